import { beforeEach, describe, expect, it } from '@jest/globals';
import { CollectingHub } from '../../spec-support/collecting-hub.js';
import { embedded } from '../../spec-support/producing.js';
import { withGoQueue } from '../../spec-support/go-queue.js';
import { viewOfSeries } from '../operate/series-view.js';
import type { ClusterProducer } from '../producer/cluster-producer.js';
import { ProducerContext } from '../producer/producer-context.js';
import { occurrencesOf } from './occurrences.js';
import { SeriesScheduler } from './series-scheduler.js';
import { Series } from './series.js';

const HOUR = 3_600_000;
const MINUTE = 60_000;
const EVERY_TEN_MINUTES = '*/10 * * * *';
const REF = { tube: 'report', key: 'recurring' };

describe.each([
  ['an hour ahead', HOUR],
  ['an hour behind', -HOUR],
])('in a process whose clock is %s', (_is, wrongBy) => {
  let world: Awaited<ReturnType<typeof embedded>>;
  let troubles: string[];

  beforeEach(async () => {
    world = await embedded();
    troubles = [];
  });

  /** A process with the series, whose machine's clock is wrong by so much. Ledger time is that of the others. */
  async function processOf(plan = EVERY_TEN_MINUTES) {
    const clock = Object.assign(Object.create(world.clock) as typeof world.clock, {
      wall: () => world.clock.wall() + wrongBy,
    });
    const { parts, ledger } = world.process();
    const producer = withGoQueue(clock).producer(new ProducerContext({ ...parts, clock }));
    const series = new Series('report', { producer, occurrences: await occurrencesOf(plan) });
    const events = new CollectingHub();
    const trouble = (message: string) => void troubles.push(message);
    const scheduler = new SeriesScheduler({ events, clock, trouble });
    scheduler.add(series);
    return { ledger, producer, scheduler, series };
  }

  /** From now, in minutes. */
  const dueIn = async () => ((await world.producer.find(REF))!.dueAt.getTime() - world.clock.wall()) / MINUTE;

  it('a series begins at the next occurrence by ledger time', async () => {
    const { scheduler } = await processOf();
    await world.clock.advance(3 * MINUTE);
    await scheduler.start();
    expect(await dueIn()).toBe(7);
    await scheduler.stop();
  });

  it('a series whose occurrence ended starts over at the next one by ledger time', async () => {
    const { scheduler, producer } = await processOf();
    await scheduler.start();
    expect(await dueIn()).toBe(10);
    await world.clock.advance(5 * MINUTE);
    await producer.revoke(REF);
    await world.clock.advance(MINUTE); // the look of each minute
    expect(await dueIn()).toBe(14); // never at what is over: see `Series.schedule`
    await scheduler.stop();
  });

  it('another plan moves the job to its next occurrence by ledger time', async () => {
    await (await processOf('0 0 * * *')).series.schedule();
    await world.clock.advance(3 * MINUTE);
    await (await processOf()).series.schedule();
    expect(await dueIn()).toBe(7);
  });

  it('the view of a running series shows the next occurrence by ledger time', async () => {
    const { series, producer } = await processOf();
    await world.clock.advance(3 * MINUTE);
    const running = Object.assign(Object.create(producer) as ClusterProducer, {
      find: async () => ({ state: 'running' }),
    });
    const { next } = await viewOfSeries(series, running);
    expect((next!.getTime() - world.clock.wall()) / MINUTE).toBe(7);
  });

  it('a series does not begin before ledger time is known', async () => {
    const { ledger, scheduler } = await processOf();
    ledger.readTime = () => Promise.reject(new Error('Redis is not connected'));
    await scheduler.start();
    expect(await world.producer.find(REF)).toBeUndefined();
    expect(troubles).toEqual([
      expect.stringMatching(/report could not be scheduled.*Redis is not connected/),
    ]);
    ledger.readTime = async () => undefined;
    await world.clock.advance(MINUTE);
    expect(await dueIn()).toBe(9);
    await scheduler.stop();
  });
});
