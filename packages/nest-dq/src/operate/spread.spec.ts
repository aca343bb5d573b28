import { describe, expect, it } from '@jest/globals';
import { checkSpread, firstRank, freeRanks, notBefore, TakenRanks, turnOf } from './spread.js';

describe('checkSpread', () => {
  it.each<[object, number, number]>([
    [{ spread: '30m' }, 12_000, 150],
    [{ spread: 1_000 }, 3, 1_000 / 3],
    [{ perMinute: 600 }, 12_000, 100],
    [{ perMinute: 0.5 }, 1, 120_000],
  ])('%j has for %d jobs a step of %d ms', (when, count, step) => {
    expect(checkSpread(when)!(count)).toBe(step);
  });

  it.each([[{ later: '1h' }], [{ delay: 5 }], [new Date(0)], [5], [undefined], [null]])(
    '%j is no spread',
    (when) => {
      expect(checkSpread(when)).toBeUndefined();
    },
  );

  it.each<[object, RegExp]>([
    [{ spread: 0 }, /^DQ_BAD_DURATION: `spread` is 0: expected a duration longer than 0$/],
    [{ spread: 'soon' }, /^DQ_BAD_DURATION: `spread` is "soon"/],
    [{ spread: '1m', perMinute: 5 }, /^DQ_BAD_OPTION: unknown "perMinute" in the new time/],
    [{ perMinute: 0 }, /^DQ_BAD_OPTION: `perMinute` is 0: expected a number above 0, at most 1000000$/],
    [{ perMinute: '600' }, /^DQ_BAD_OPTION: `perMinute` is "600"/],
    [{ perMinute: Number.NaN }, /^DQ_BAD_OPTION: `perMinute` is NaN/],
  ])('refuses %j', (when, message) => {
    expect(() => checkSpread(when)).toThrow(message);
  });
});

describe('turns', () => {
  it('are evenly apart, in whole ms', () => {
    const turns = { begin: 1_000, step: 100 / 3 };
    expect([0, 1, 2, 3, 6].map((rank) => turnOf(turns, rank))).toEqual([1_000, 1_033, 1_066, 1_100, 1_200]);
  });

  it('begin later if that of the first rank has passed, at the same distances', () => {
    const turns = { begin: 1_000, step: 100 };
    expect(notBefore(turns, 3, 1_300)).toEqual(turns);
    expect(notBefore(turns, 3, 1_500.5)).toEqual({ begin: 1_201, step: 100 });
    expect(turnOf(notBefore(turns, 3, 1_500.5), 3)).toBe(1_501);
  });
});

describe('the ranks of jobs still to come', () => {
  /** Ranks of those left, if the turns of `moved` are taken. */
  const ranksOf = (count: number, left: number, moved: readonly number[]) => {
    const taken = new Set(moved);
    const ranks = freeRanks(firstRank(count, left, taken), taken);
    return Array.from({ length: left }, () => ranks.next().value);
  };

  it.each<[string, number, number, number[], number[]]>([
    ['all, at the beginning', 4, 4, [], [0, 1, 2, 3]],
    ['the last ones, after a whole page', 6, 2, [0, 1, 2, 3], [4, 5]],
    ['those between, if a page was interrupted', 8, 5, [0, 2, 5], [1, 3, 4, 6, 7]],
    ['the last ones, if the moved ones have run since', 8, 5, [5], [2, 3, 4, 6, 7]],
    ['as before, if some kept their time', 6, 4, [3, 4], [0, 1, 2, 5]],
    ['further ones, if more are left than were counted', 3, 4, [1], [0, 2, 3, 4]],
  ])('are %s', (_which, count, left, moved, ranks) => {
    expect(ranksOf(count, left, moved)).toEqual(ranks);
  });

  it('are known to be taken by the due times of moved jobs', () => {
    const turns = { begin: 1_000, step: 100 / 3 };
    const taken = new TakenRanks(turns);
    for (const due of [1_066, 1_000, 1_034, 1_100]) taken.note(due);
    expect(taken.ranks).toEqual(new Set([2, 0, 3]));
  });

  it('are taken once for each job of one ms', () => {
    const turns = { begin: 1_000, step: 0.5 };
    const taken = new TakenRanks(turns);
    for (const due of [1_001, 1_001, 1_001, 1_000]) taken.note(due);
    expect(taken.ranks).toEqual(new Set([2, 3, 0]));
  });
});
