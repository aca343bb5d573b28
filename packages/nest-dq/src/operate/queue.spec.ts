import { describe, expect, it } from '@jest/globals';
import { countSpread, lateSpans, latenessOf, longestIn } from './queue.js';

const MINUTE = 60_000;

/** Spans of a minute from time 0. */
const minutes = (...jobs: readonly number[]) =>
  jobs.map((each, i) => ({ from: i * MINUTE, to: (i + 1) * MINUTE, jobs: each }));

describe('latenessOf', () => {
  it.each<[string, number[], { overdue?: number; heldUntil?: number }, number[]]>([
    ['none below the capacity', [10, 10, 10], {}, [0, 0, 0]],
    ['a peak that takes three minutes', [30, 0, 0, 0], {}, [2, 2, 1, 0]],
    ['a peak that new jobs prolong', [30, 5, 5, 5, 5, 5], {}, [2, 2, 1.5, 1, 0.5, 0]],
    ['what is overdue', [0, 10, 0], { overdue: 15 }, [1.5, 0.5, 0.5]],
    ['a pause with an end', [0, 0, 10, 0], { heldUntil: 2 * MINUTE }, [2, 1, 0, 0]],
    ['a pause and what comes due in it', [10, 10, 10, 0], { heldUntil: 2 * MINUTE }, [2, 2, 2, 2]],
  ])('has %s', (_what, jobs, { overdue = 0, ...more }, late) => {
    const lateness = latenessOf(minutes(...jobs), { now: 0, overdue, perMinute: 10, ...more });
    const longest = lateness.map(({ from, to }) => longestIn(lateness, from, to)! / MINUTE);
    expect(longest).toEqual(late);
  });
});

describe('lateSpans', () => {
  const late = (...jobs: readonly number[]) =>
    lateSpans(latenessOf(minutes(...jobs), { now: 0, overdue: 0, perMinute: 10 }), MINUTE).map((span) =>
      Object.values(span).map((each: number) => each / MINUTE),
    );

  it('begin and end where the lateness is that long, with the longest one', () => {
    expect(late(0, 30, 0, 0, 0, 50, 0, 0, 0)).toEqual([
      [1.5, 3, 2],
      [5.25, 9, 4],
    ]);
  });

  it('are none where the lateness is small', () => {
    expect(late(19, 1)).toEqual([]);
  });
});

describe('longestIn', () => {
  it('is that of the time asked for, however long the spans are', () => {
    const lateness = latenessOf(minutes(30, 0, 0), { now: 0, overdue: 0, perMinute: 10 });
    const longest = (from: number, to: number) => longestIn(lateness, from * MINUTE, to * MINUTE);
    expect([longest(0, 0.5), longest(1.5, 2.5), longest(3, 4)]).toEqual([MINUTE, 1.5 * MINUTE, undefined]);
  });
});

describe('countSpread', () => {
  /** 100 jobs are due before; 60 of which the last is due at 10 are spread from there, one each time unit. */
  const spread = { before: 100, count: 60, begin: 10, step: 1 };

  it.each([
    ['as before, before the first', 100, 10, 100],
    ['those that had their turn', 160, 30, 120],
    ['all of them at the end', 160, 70, 160],
    ['those after them, too', 200, 30, 160],
    ['no more than were due: none gets earlier', 105, 30, 105],
  ])('counts %s', (_which, counted, at, due) => {
    expect(countSpread(counted, at, spread)).toBe(due);
  });
});
