import { beforeEach, describe, expect, it } from '@jest/globals';
import { hostname } from 'node:os';
import { CollectingHub } from '../../spec-support/collecting-hub.js';
import type { DeadLetter } from '../api/dead-letter.js';
import type { DelayedJob } from '../api/job.js';
import { DqError } from '../errors.js';
import { VirtualClock } from 'nest-handlers/testing';
import { LocalSeriesRuns } from './local-series-runs.js';
import { SeriesRunWriter } from './series-run-writer.js';
import type { SeriesRunRecord, StoredSeriesRun } from './series-runs.js';

describe('SeriesRunWriter', () => {
  let clock: VirtualClock;
  let events: CollectingHub;
  let away: boolean;
  let warnings: string[];
  let calls: (readonly StoredSeriesRun[])[];
  let runs: LocalSeriesRuns;
  const named: string[] = [];

  function writerOf(keepErrors = true): SeriesRunWriter {
    const writer = new SeriesRunWriter({
      events,
      runs: {
        now: () => runs.now(),
        read: () => runs.read(),
        put: async (some) => {
          calls.push(some);
          if (away) throw new DqError('DQ_LEDGER_DOWN', 'Redis is away');
          await runs.put(some);
        },
      },
      clock,
      warn: (message) => warnings.push(message),
      keepErrors,
      planOf: ({ key }) => (key === 'recurring' ? '0 3 * * * UTC' : undefined),
      plans: { ran: async (some) => void named.push(...some.map(({ name }) => name)) },
      nameOf: ({ key }) => key?.match(/^series:(.*)/)?.[1],
    });
    writer.start();
    return writer;
  }

  beforeEach(() => {
    clock = new VirtualClock();
    events = new CollectingHub();
    [away, warnings, calls] = [false, [], []];
    runs = new LocalSeriesRuns(() => clock.wall());
  });

  const job = (tube = 'report', more: object = {}) =>
    ({ id: 'x', tube, key: 'recurring', dueAt: new Date(5), attempt: 2, ...more }) as unknown as DelayedJob;
  const completed = (tube?: string) =>
    events.emit('completed', { job: job(tube), took: 31.4, result: undefined });
  const failed = (error: Error, retryAt?: Date) =>
    events.emit('failed', { job: job(), error, took: 7, ...(retryAt && { retryAt }) });
  const stored = async () => (await runs.read()).map((text) => JSON.parse(text) as SeriesRunRecord);

  it('stores how a run ended: when, how long it took, and where', async () => {
    writerOf();
    completed();
    await clock.advance(0);
    expect(await stored()).toEqual([
      {
        tube: 'report',
        plan: '0 3 * * * UTC',
        outcome: 'completed',
        dueAt: 5,
        endedAt: clock.wall(),
        attempt: 2,
        took: 31,
        process: `${hostname()}:${process.pid}`,
      },
    ]);
  });

  it('stores the last run of a series made at run time under its name', async () => {
    writerOf();
    events.emit('completed', { job: job('report', { key: 'series:a' }), took: 1, result: 1 });
    events.emit('completed', { job: job('report', { key: 'series:b' }), took: 1, result: 1 });
    await clock.advance(0);
    expect([calls, named]).toEqual([[], ['a', 'b']]);
  });

  it('ignores jobs that are no occurrence', async () => {
    writerOf();
    events.emit('completed', { job: job('report', { key: undefined }), took: 1, result: 1 });
    await clock.advance(0);
    expect(calls).toEqual([]);
  });

  it('stores a failure with the first line of its error, unless errors are not kept', async () => {
    writerOf();
    failed(new TypeError('no such table\n at line 3'), new Date(9));
    await clock.advance(0);
    expect(await stored()).toMatchObject([
      { outcome: 'retrying', took: 7, error: 'TypeError: no such table' },
    ]);
    failed(new Error(`${'x'.repeat(292)}\u{1F600}`));
    await clock.advance(0);
    expect(await stored()).toMatchObject([{ outcome: 'failed', error: `Error: ${'x'.repeat(292)}\uFFFD` }]);
    events = new CollectingHub();
    writerOf(false);
    failed(new Error('secret'), new Date(9));
    await clock.advance(0);
    expect((await stored())[0]).not.toHaveProperty('error');
  });

  it('stores a death in place of the failure before it, and one without a run', async () => {
    writerOf();
    const died = (id: string) =>
      events.emit('dead', {
        letter: job('report', { id, error: { name: 'Error', message: 'no' } }) as unknown as DeadLetter,
      });
    failed(new Error('no'));
    died('x');
    await clock.advance(0);
    expect(calls).toHaveLength(1);
    expect(await stored()).toMatchObject([{ outcome: 'dead', took: 7, error: 'Error: no' }]);
    died('y');
    await clock.advance(0);
    const [run] = await stored();
    expect(run).toMatchObject({ outcome: 'dead' });
    expect(run).not.toHaveProperty('took');
  });

  it('keeps the last run of each series while the ledger is away, and warns once', async () => {
    away = true;
    writerOf();
    completed('a');
    completed('b');
    await clock.advance(20_000);
    failed(new Error('no'));
    completed('a');
    const last = clock.wall();
    await clock.advance(20_000);
    expect(warnings).toEqual(['storing the last runs of series failed; retrying: Redis is away']);
    away = false;
    await clock.advance(5_000);
    expect((await stored()).map(({ tube }) => tube).sort()).toEqual(['a', 'b', 'report']);
    expect(await stored()).toContainEqual(expect.objectContaining({ tube: 'a', endedAt: last }));
    expect(clock.nextTimer).toBe(Infinity);
  });

  it('stores the rest when it ends, but does not wait for long, and leaves no timer', async () => {
    const writer = writerOf();
    completed();
    await writer.close();
    expect(await stored()).toHaveLength(1);
    events = new CollectingHub();
    away = true;
    const other = writerOf();
    completed('b');
    await other.close();
    expect(clock.nextTimer).toBe(Infinity);
    expect(await stored()).toHaveLength(1);
  });
});
