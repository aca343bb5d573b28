import { expect, it } from '@jest/globals';
import { CollectingHub } from '../../spec-support/collecting-hub.js';
import { VirtualClock } from 'nest-handlers/testing';
import { SeriesScheduler } from './series-scheduler.js';
import type { DelayedJob } from '../api/job.js';
import { Again } from '../api/outcome.js';
import type { Series } from './series.js';

function schedulerOfOne() {
  const clock = new VirtualClock();
  const looks: { at: number; end: () => void }[] = [];
  const series = {
    tube: 'report',
    schedule: () => new Promise<void>((end) => looks.push({ at: clock.now(), end })),
  } as unknown as Series;
  const events = new CollectingHub();
  const scheduler = new SeriesScheduler({ events, clock, trouble: () => undefined });
  scheduler.add(series);
  return { clock, looks, scheduler, events };
}

it('looks after a series at the start, which waits for that, and every minute', async () => {
  const { clock, looks, scheduler } = schedulerOfOne();
  let started = false;
  const starting = scheduler.start().then(() => (started = true));
  await clock.advance(0);
  expect([looks.length, started]).toEqual([1, false]);
  looks[0]!.end();
  await starting;
  await clock.advance(120_000);
  expect(looks.map(({ at }) => at - looks[0]!.at)).toEqual([0, 60_000, 120_000]);
});

it('looks at once when an occurrence has ended the job here, and not when it comes again', async () => {
  const { clock, looks, scheduler, events } = schedulerOfOne();
  void scheduler.start();
  await clock.advance(0);
  const completed = (tube: string, key: string, result: unknown) =>
    events.emit('completed', { job: { tube, key } as unknown as DelayedJob, took: 1, result });
  completed('report', 'recurring', Again.after('5m'));
  completed('report', 'by hand', undefined);
  completed('mail', 'recurring', undefined);
  expect(looks).toHaveLength(1);
  completed('report', 'recurring', undefined);
  expect(looks).toHaveLength(2);
  expect(events.failures).toEqual([]);
});

it('waits for calls in flight when it stops, and leaves no timer', async () => {
  const { clock, looks, scheduler } = schedulerOfOne();
  void scheduler.start();
  let stopped = false;
  const stopping = scheduler.stop().then(() => (stopped = true));
  await clock.advance(0);
  expect(stopped).toBe(false);
  looks[0]!.end();
  await stopping;
  expect(clock.nextTimer).toBe(Infinity);
});

it('does nothing after a stop, also one before the start', async () => {
  const { clock, looks, scheduler } = schedulerOfOne();
  await scheduler.stop();
  await scheduler.start();
  await scheduler.stop();
  expect([looks.length, clock.nextTimer]).toEqual([0, Infinity]);
});
