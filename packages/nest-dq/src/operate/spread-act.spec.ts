import { describe, expect, it } from '@jest/globals';
import { embedded } from '../../spec-support/producing.js';
import type { DqError } from '../errors.js';
import { formatCursor } from '../producer/cursor.js';
import type { BulkOptions, BulkProgress } from './bulk.js';
import type { NewTime } from './waiting-filter.js';

const MINUTE = 60_000;

/** Embedded nodes with jobs that are due at these minutes. */
async function withDue(minutes: readonly number[]) {
  const world = await embedded();
  const { producer, clock } = world;
  const start = clock.wall();
  const jobs = minutes.map((at, i) => ({ payload: String(i), at: new Date(start + at * MINUTE) }));
  const receipts = await producer.addMany('t', jobs);
  await clock.advance(1);
  return Object.assign(world, {
    receipts,
    minute: (at: Date) => (at.getTime() - start) / MINUTE,
    /** In minutes from the start. */
    due: async () => {
      const found = await Promise.all(receipts.map((receipt) => producer.find(receipt)));
      return found.map((view) =>
        view?.state === 'waiting' ? (view.dueAt.getTime() - start) / MINUTE : view?.state,
      );
    },
  });
}

async function all<T>(act: AsyncIterable<BulkProgress<T>>): Promise<BulkProgress<T>> {
  let last: BulkProgress<T> | undefined;
  for await (last of act);
  return last!;
}

const ascending = (values: readonly unknown[]) => (values as number[]).toSorted((a, b) => a - b);

describe('a spread', () => {
  it.each<[string, NewTime, number[], number[]]>([
    ['a peak over a duration', { spread: '6m' }, [10, 10, 10], [10, 12, 14]],
    ['a peak at a rate', { perMinute: 0.5 }, [10, 10, 10], [10, 12, 14]],
    ['jobs in the order of their due times', { spread: '8m' }, [13, 10, 12, 11], [16, 10, 14, 12]],
    [
      'jobs of which some are due after their turn, and keep their time',
      { spread: '3m' },
      [1, 1, 9],
      [1, 2, 9],
    ],
  ])('moves %s', async (_what, when, before, after) => {
    const { control, due, receipts } = await withDue(before);
    expect(await all(control.rescheduleMany('t', {}, when))).toMatchObject({
      done: receipts.length,
      failed: 0,
      skipped: 0,
    });
    const exact = before.every((each) => each === before[0]) ? ascending : (values: unknown[]) => values;
    expect(exact(await due())).toEqual(after);
  });

  it('begins now if the first is overdue, and leaves none in the past', async () => {
    const { control, due, clock } = await withDue([1, 1, 2, 2]);
    await clock.advance(5 * MINUTE - 1);
    await all(control.rescheduleMany('t', {}, { spread: '4m' }));
    expect(ascending(await due())).toEqual([5, 6, 7, 8]);
  });

  it('leaves alone what its filter does not match', async () => {
    const { control, due, clock } = await withDue([1, 10, 10.5, 20]);
    const at = (minutes: number) => new Date(clock.wall() - 1 + minutes * MINUTE);
    await all(control.rescheduleMany('t', { dueFrom: at(5), dueTo: at(15) }, { spread: '8m' }));
    expect(await due()).toEqual([1, 10, 14, 20]);
    await all(control.rescheduleMany('t', { limit: 2 }, { spread: '40m' }));
    expect(await due()).toEqual([1, 21, 14, 20]);
  });

  it('in a dry run shows the new times, and changes nothing', async () => {
    const { control, due, minute } = await withDue([10, 11, 30]);
    const told = await all(control.rescheduleMany('t', {}, { spread: '6m' }, { dryRun: true }));
    expect(told.examples.map(({ dueAt, movesTo }) => [minute(dueAt), minute(movesTo)])).toEqual([
      [10, 10],
      [11, 12],
      [30, 30],
    ]);
    expect(told).toMatchObject({ done: 3 });
    expect([told.spread!.from, told.spread!.to].map(minute)).toEqual([10, 30]);
    expect(await due()).toEqual([10, 11, 30]);
  });

  it('of nothing does nothing', async () => {
    const { control } = await withDue([]);
    const told = await all(control.rescheduleMany('t', {}, { spread: '6m' }));
    expect(told).toEqual({ done: 0, failed: 0, skipped: 0, failures: [], examples: [] });
  });

  it('moves none twice, and gives each its turn, if its process died within a page and it continues', async () => {
    const {
      control,
      due,
      ledger,
      receipts,
      after: later,
    } = await withDue(Array.from({ length: 100 }, () => 10));
    const act = control.rescheduleMany('t', {}, { spread: '50m' })[Symbol.asyncIterator]();
    const { cursor } = (await act.next()).value as BulkProgress<unknown>;
    await act.return?.();
    let commits = 0;
    const failing = control.rescheduleMany('t', {}, { spread: '50m' }, { cursor: cursor!, patience: 0 });
    ledger.gate = (verb) => {
      if (verb === 'commit' && ++commits > 8) ledger.down = true;
    };
    const error = (await later(
      30_000,
      all(failing).catch((thrown: unknown) => thrown),
    )) as DqError;
    expect(error.code).toBe('DQ_LEDGER_DOWN');
    ledger.gate = () => undefined;
    ledger.down = false;
    const halfway = await due();
    const moved = halfway.filter((minute) => minute !== 10).length;
    expect(moved).toBeGreaterThan(10);
    expect(moved).toBeLessThan(90);
    await all(control.rescheduleMany('t', {}, { spread: '50m' }, { cursor: cursor! }));
    expect(ascending(await due())).toEqual(receipts.map((_, i) => 10 + i / 2));
    const after = await due();
    halfway.forEach((minute, i) => {
      if (minute !== 10) expect(after[i]).toBe(minute);
    });
  });

  it('continues from each of its pages', async () => {
    const { control, due, receipts } = await withDue(Array.from({ length: 300 }, () => 10));
    let cursor: string | undefined;
    let rounds = 0;
    do {
      const options: BulkOptions = cursor === undefined ? {} : { cursor };
      for await (const told of control.rescheduleMany('t', {}, { spread: '150m' }, options)) {
        cursor = told.cursor;
        if (told.done > 0) break;
      }
      rounds++;
    } while (cursor !== undefined);
    expect(rounds).toBe(3);
    expect(ascending(await due())).toEqual(receipts.map((_, i) => 10 + i / 2));
  });

  it('is no burst if it continues after its turns: the rest begins now', async () => {
    const { control, due, clock } = await withDue(Array.from({ length: 130 }, () => 0));
    const act = control.rescheduleMany('t', {}, { perMinute: 200 })[Symbol.asyncIterator]();
    await act.next();
    const { cursor } = (await act.next()).value as BulkProgress<unknown>; // 128 are moved
    await act.return?.();
    await clock.advance(2 * MINUTE);
    await all(control.rescheduleMany('t', {}, { perMinute: 200 }, { cursor: cursor! }));
    const last = ascending(await due()).slice(-2);
    expect(last.map((minute) => Math.round(minute * 1_000) / 1_000)).toEqual([2, 2.005]);
  });

  it('leaves alone what is added, moved or revoked after it began', async () => {
    const { control, due, producer, receipts, clock } = await withDue(Array.from({ length: 4 }, () => 10));
    const act = control.rescheduleMany('t', {}, { spread: '8m' })[Symbol.asyncIterator]();
    await act.next();
    const start = clock.wall() - 1;
    await clock.advance(1);
    const added = await producer.at('t', 'added', new Date(start + 10 * MINUTE));
    await producer.revoke(receipts[1]!);
    await producer.reschedule(receipts[2]!, new Date(start + 5 * MINUTE));
    for (;;) if ((await act.next()).done) break;
    expect((await producer.find(added))!.dueAt).toEqual(added.dueAt);
    const [first, revoked, other, last] = await due();
    expect([revoked, other]).toEqual(['revoked', 5]);
    expect(ascending([first, last])).toEqual([10, 16]); // each has the turn it had when it was read
  });

  it.each([[[]], [[1]], [[1, 2, 0, 4, 'id']], [[1, 2, 0.5, 4, 'id']]])(
    'refuses the cursor %j',
    async (values) => {
      const { control } = await withDue([]);
      const cursor = formatCursor(...(values as (number | string)[]));
      expect(() => control.rescheduleMany('t', {}, { spread: '1m' }, { cursor })).toThrow(
        `DQ_BAD_OPTION: \`cursor\` is "${cursor}": expected the \`cursor\` of the same spread`,
      );
    },
  );
});

describe('resumeGradually', () => {
  it('spreads what is overdue from now on, and resumes the tube', async () => {
    const { control, due, clock, events } = await withDue([1, 2, 3, 30]);
    const operated = events.collect('operated');
    await control.pause('t');
    await clock.advance(10 * MINUTE - 1);
    const told = await all(control.resumeGradually('t', { perMinute: 2 }, { by: 'ann' }));
    expect(told).toMatchObject({ done: 3 });
    expect(await due()).toEqual([10, 10.5, 11, 30]);
    expect(operated.slice(1)).toMatchObject([
      { act: 'resumeGradually', on: { tube: 't', change: { perMinute: 2 } }, count: 3, by: 'ann' },
      { act: 'resume', on: { tube: 't' }, count: 1, by: 'ann' },
    ]);
  });

  it('in a dry run says when it will have caught up, and leaves the tube paused', async () => {
    const { control, due, clock, minute } = await withDue([1, 2, 3]);
    await control.pause('t');
    await clock.advance(10 * MINUTE - 1);
    const told = await all(control.resumeGradually('t', { perMinute: 2 }, { dryRun: true }));
    expect([told.done, minute(told.spread!.to)]).toEqual([3, 11]);
    expect(await due()).toEqual([1, 2, 3]);
    expect(await control.resume('t')).toHaveProperty('ended');
  });

  it('leaves the tube paused if it is interrupted, and continues', async () => {
    const { control, due, clock } = await withDue(Array.from({ length: 130 }, () => 1));
    await control.pause('t');
    await clock.advance(10 * MINUTE - 1);
    const act = control.resumeGradually('t', { perMinute: 2 })[Symbol.asyncIterator]();
    await act.next();
    const { cursor } = (await act.next()).value as BulkProgress<unknown>;
    await act.return?.();
    expect((await control.pause('t')).until).toBeUndefined();
    expect(await all(control.resumeGradually('t', { perMinute: 2 }, { cursor: cursor! }))).toMatchObject({
      done: 2,
    });
    expect(ascending(await due())).toEqual(Array.from({ length: 130 }, (_, i) => 10 + i / 2));
    expect(await control.resume('t')).not.toHaveProperty('ended');
  });

  it('resumes a tube without overdue jobs at once', async () => {
    const { control } = await withDue([5]);
    await control.pause('t');
    expect(await all(control.resumeGradually('t', { perMinute: 600 }))).toMatchObject({ done: 0 });
    expect(await control.resume('t')).not.toHaveProperty('ended');
  });

  it.each([[{ perMinute: 0 }], [{}], [{ perMinute: 5, per: 5 }]])('refuses the pace %j', async (pace) => {
    const { control } = await withDue([]);
    expect(() => control.resumeGradually('t', pace as { perMinute: number })).toThrow(/^DQ_BAD_OPTION/);
  });
});
