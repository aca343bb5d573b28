import { describe, expect, it } from '@jest/globals';
import type { Reserved } from '../beanstalk/connection.js';
import { embedded } from '../../spec-support/producing.js';
import { DqError } from '../errors.js';
import type { BulkOptions, BulkProgress } from './bulk.js';
import type { NewTime, WaitingFilter } from './waiting-filter.js';

const MINUTE = 60_000;

/** Embedded nodes with jobs `0`, `1`, …, of which each is due a minute after the one before. */
async function withWaiting(count: number) {
  const world = await embedded();
  const { producer, clock } = world;
  const start = clock.wall();
  const jobs = Array.from({ length: count }, (_, i) => ({ payload: String(i), delay: (i + 1) * MINUTE }));
  const receipts = await producer.addMany('t', jobs);
  await clock.advance(1);
  return Object.assign(world, {
    receipts,
    at: (minutes: number) => new Date(start + minutes * MINUTE),
    /** In minutes from the start, by the ledger; of one that it does not know, by its copies. */
    due: async () => {
      const found = await Promise.all(receipts.map((receipt) => producer.find(receipt)));
      return found.map((view) =>
        view?.state === 'waiting' ? (view.dueAt.getTime() - start) / MINUTE : view?.state,
      );
    },
  });
}

function isFirst<T>({ done, failed, skipped, cursor }: BulkProgress<T>): boolean {
  return done + failed + skipped === 0 && cursor !== undefined;
}

/** Without the progress that comes before anything is changed. */
async function all<T>(act: AsyncIterable<BulkProgress<T>>): Promise<BulkProgress<T>[]> {
  const told: BulkProgress<T>[] = [];
  for await (const progress of act) if (!isFirst(progress)) told.push(progress);
  return told;
}

const through = (done: number) => ({ done, failed: 0, skipped: 0, failures: [], examples: [] });

describe('revokeMany', () => {
  it('revokes the jobs that are due in a range, and deletes their copies', async () => {
    const { control, payloads, at, due, events } = await withWaiting(4);
    const operated = events.collect('operated');
    const revoked = events.collect('revoked');
    const filter = { dueFrom: at(2), dueTo: at(4) };
    expect(await all(control.revokeMany('t', filter, { by: 'ann' }))).toEqual([through(2)]);
    expect(await due()).toEqual([1, 'revoked', 'revoked', 4]);
    expect((await payloads()).toSorted()).toEqual(['0', '0', '0', '3', '3', '3']);
    expect(operated).toEqual([{ by: 'ann', act: 'revokeMany', on: { tube: 't', filter }, count: 2 }]);
    expect(revoked).toHaveLength(2);
  });

  it('can be limited to jobs that wait for a retry, or to the others', async () => {
    const { control, producer, copies, run, clock } = await withWaiting(1);
    const retried = await producer.now('t', 'retried');
    await clock.advance(0);
    const primary = (await copies()).find(({ payload }) => payload === 'retried')!;
    await (await run(primary)).finish('retry', { due: clock.wall() + MINUTE });
    const dry = { dryRun: true };
    const [others] = await all(control.revokeMany('t', { state: 'waiting' }, dry));
    expect(others!.examples.map(({ state }) => state)).toEqual(['waiting']);
    expect(await all(control.revokeMany('t', { state: 'retrying' }))).toMatchObject([{ done: 1 }]);
    expect(await producer.find(retried)).toMatchObject({ state: 'revoked' });
  });

  describe('while a consumer holds a copy', () => {
    async function withHeld() {
      const world = await withWaiting(1);
      await world.clock.advance(MINUTE);
      const lane = world.nodes[0]!.connectLane(() => undefined)!;
      await lane.ask((done) => lane.watch('t', done));
      const copy = await lane.ask<Reserved | string>((done) => lane.reserveWithTimeout(0, done));
      if (typeof copy === 'string') throw new Error(`no copy was there: ${copy}`);
      return Object.assign(world, { lane, copyId: copy.id });
    }

    it('waits for a frozen one, until its node takes the copy back', async () => {
      const { control, copies, after } = await withHeld();
      expect(await after(70_000, all(control.revokeMany('t', {})))).toEqual([through(1)]);
      expect(await copies()).toEqual([]);
    });

    it('counts the job as failed if the consumer keeps holding it', async () => {
      const { control, clock, lane, copyId } = await withHeld();
      const revoking = all(control.revokeMany('t', {}));
      for (let seconds = 0; seconds < 80; seconds += 10) {
        await clock.advance(10_000);
        lane.touch(copyId, () => undefined);
      }
      const [progress] = await revoking;
      expect(progress).toMatchObject({ done: 0, failed: 1, skipped: 0 });
      expect(progress!.failures[0]!.error.code).toBe('DQ_UNCONFIRMED');
    });
  });

  it('counts a job as skipped that began to run after it was read', async () => {
    const { control, copies, run, clock, ledger, producer, receipts } = await withWaiting(1);
    await clock.advance(MINUTE);
    ledger.gate = async (verb) => {
      if (verb !== 'revoke') return;
      ledger.gate = () => undefined;
      await run((await copies())[0]!);
    };
    expect(await all(control.revokeMany('t', {}))).toMatchObject([{ done: 0, skipped: 1 }]);
    expect(await producer.find(receipts[0]!)).toMatchObject({ state: 'running' });
  });
});

describe('rescheduleMany', () => {
  it.each<[string, NewTime, number[]]>([
    ['later than each was due', { later: '10m' }, [11, 12, 13]],
    ['earlier than each was due, at most to now', { earlier: '2m' }, [0, 0, 1]],
    ['to a delay from now', { delay: '1h' }, [60, 60, 60]],
  ])('moves jobs %s, each once', async (_how, when, minutes) => {
    const { control, due, copies, receipts, clock } = await withWaiting(3);
    expect(await all(control.rescheduleMany('t', {}, when))).toEqual([through(3)]);
    expect((await due()).map((minute) => Math.floor(Number(minute)))).toEqual(minutes);
    await clock.advance(0);
    expect(await copies()).toHaveLength(3 * receipts.length);
  });

  it.each<[string, NewTime]>([
    ['later', { later: '1h' }],
    ['to a delay', { delay: '1h' }],
  ])('returns a cursor before it moves any job %s, so that nothing is moved twice', async (_to, when) => {
    const { control, clock, due } = await withWaiting(3);
    const before = await due();
    const act = control.rescheduleMany('t', {}, when)[Symbol.asyncIterator]();
    const { value: first } = await act.next();
    expect([first, await due()]).toMatchObject([{ done: 0, failed: 0, skipped: 0 }, before]);
    await act.next(); // it has moved all, and its process is killed before it has reported that
    const moved = await due();
    expect(moved).not.toEqual(before);
    await clock.advance(MINUTE / 2);
    expect(await all(control.rescheduleMany('t', {}, when, { cursor: first!.cursor }))).toEqual([through(0)]);
    expect(await due()).toEqual(moved);
  });

  it('moves jobs to an instant, and reports which', async () => {
    const { control, due, at, events } = await withWaiting(2);
    const operated = events.collect('operated');
    expect(await all(control.rescheduleMany('t', { limit: 1 }, at(30)))).toMatchObject([{ done: 1 }]);
    expect(await due()).toEqual([30, 2]);
    expect(operated).toMatchObject([{ act: 'rescheduleMany', on: { change: at(30) }, count: 1 }]);
  });

  it('moves none again that it meets after its old place, even if it continues from a cursor', async () => {
    const { control, due, clock } = await withWaiting(3);
    const [{ cursor }] = (await all(control.rescheduleMany('t', { limit: 1 }, { later: '90s' }))) as [
      BulkProgress<unknown>,
    ];
    await clock.advance(1);
    expect(await all(control.rescheduleMany('t', {}, { later: '90s' }, { cursor: cursor! }))).toMatchObject([
      { done: 2 },
    ]);
    expect(await due()).toEqual([2.5, 3.5, 4.5]);
  });

  it('leaves alone a job that another process moved after it was read', async () => {
    const { control, due, ledger, process, receipts, at } = await withWaiting(2);
    const other = process();
    ledger.gate = async (verb) => {
      if (verb !== 'find') return;
      ledger.gate = () => undefined;
      expect(await other.producer.reschedule(receipts[0]!, at(20))).toBe('rescheduled');
    };
    expect(await all(control.rescheduleMany('t', {}, { later: '1m' }))).toMatchObject([
      { done: 1, skipped: 1 },
    ]);
    expect(await due()).toEqual([20, 3]);
  });

  it('refuses an instant in the past, and moves nothing', async () => {
    const { control, due, at, clock } = await withWaiting(1);
    await clock.advance(30_000);
    await expect(all(control.rescheduleMany('t', {}, at(0)))).rejects.toMatchObject({
      code: 'DQ_PAST_TIME',
      progress: { done: 0, failed: 0, skipped: 0 },
    });
    expect(await due()).toEqual([1]);
  });

  it.each<[unknown, RegExp]>([
    ['tomorrow', /^DQ_BAD_TIME: the new time is "tomorrow": expected a point in time/],
    [{ later: 'soon' }, /^DQ_BAD_DURATION: `later` is "soon"/],
    [{ earlier: -1 }, /^DQ_BAD_DURATION: `earlier` is -1: negative/],
    [
      { later: '1h', earlier: '1h' },
      /^DQ_BAD_OPTION: unknown "earlier" in the new time: expected one of later$/,
    ],
    [undefined, /^DQ_BAD_TIME/],
  ])('refuses %j for the new time', async (when, message) => {
    const { control } = await withWaiting(0);
    expect(() => control.rescheduleMany('t', {}, when as NewTime)).toThrow(message);
  });
});

describe('an act on many that wait', () => {
  it('in a dry run shows the first ten, and changes nothing', async () => {
    const { control, copies, events, receipts } = await withWaiting(12);
    const operated = events.collect('operated');
    const before = await copies();
    const [told] = await all(control.rescheduleMany('t', {}, { later: '1h' }, { dryRun: true }));
    expect(told).toMatchObject({ done: 12, failed: 0, skipped: 0 });
    expect(told!.examples.map(({ id, dueAt }) => ({ id, dueAt }))).toEqual(
      receipts.slice(0, 10).map(({ id, dueAt }) => ({ id, dueAt })),
    );
    const shifts = told!.examples.map(({ dueAt, movesTo }) => movesTo.getTime() - dueAt.getTime());
    expect(new Set(shifts)).toEqual(new Set([60 * MINUTE]));
    expect([told!.earliest, told!.latest]).toEqual([receipts[0]!.dueAt, receipts[11]!.dueAt]);
    expect([await copies(), operated]).toEqual([before, []]);
  });

  it('in a dry run names jobs by their keys', async () => {
    const { control, producer, after, clock } = await withWaiting(1);
    await producer.delay('t', 'keyed', '1h', { key: 'k' });
    await clock.advance(1);
    const keys = async () => {
      const act = control.revokeMany('t', {}, { dryRun: true });
      const [told] = await after(2_000, all(act));
      return told!.examples.map(({ key }) => key);
    };
    expect(await keys()).toEqual([undefined, 'k']);
  });

  it('in a dry run refuses a new time in the past', async () => {
    const { control, at } = await withWaiting(1);
    const act = all(control.rescheduleMany('t', {}, at(-60), { dryRun: true }));
    await expect(act).rejects.toMatchObject({ code: 'DQ_PAST_TIME' });
  });

  it('ends with an error that has its progress while the ledger is away, and continues from it', async () => {
    const { control, ledger, after, due, events } = await withWaiting(3);
    const operated = events.collect('operated');
    ledger.down = true;
    const act = all(control.revokeMany('t', {}, { patience: 0 }));
    const error = (await after(5_000, act).catch((thrown: unknown) => thrown)) as DqError;
    expect(error).toMatchObject({ code: 'DQ_LEDGER_DOWN', progress: { done: 0, failed: 0, skipped: 0 } });
    expect(operated).toMatchObject([{ count: 0, error }]);
    ledger.down = false;
    const { cursor } = error.progress!;
    expect(await all(control.revokeMany('t', {}, { cursor: cursor! }))).toMatchObject([{ done: 3 }]);
    expect(await due()).toEqual(['revoked', 'revoked', 'revoked']);
  });

  it.each<[unknown, unknown, RegExp]>([
    [
      undefined,
      {},
      /^DQ_BAD_OPTION: the filter is undefined: expected an object; \{\} matches all waiting jobs$/,
    ],
    [
      { due: 5 },
      {},
      /^DQ_BAD_OPTION: unknown "due" in the filter: expected one of dueFrom, dueTo, state, limit$/,
    ],
    [{ state: 'dead' }, {}, /^DQ_BAD_OPTION: `state` is "dead": expected "waiting" or "retrying"$/],
    [{ limit: -1 }, {}, /^DQ_BAD_OPTION: `limit` is -1/],
    [{ dueFrom: 'x' }, {}, /^DQ_BAD_TIME/],
    [
      {},
      { cursor: 'W10' },
      /^DQ_BAD_OPTION: `cursor` is "W10": expected the `cursor` of a previous `revokeMany`$/,
    ],
  ])('refuses the filter %j with the options %j', async (filter, options, message) => {
    const { control } = await withWaiting(0);
    expect(() => control.revokeMany('t', filter as WaitingFilter, options as BulkOptions)).toThrow(message);
  });
});
