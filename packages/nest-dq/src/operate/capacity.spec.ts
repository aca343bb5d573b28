import { describe, expect, it } from '@jest/globals';
import { limitCapacity, lowerOf, measuredCapacity } from './capacity.js';
import type { HistoryBucket } from './history-view.js';

/** A minute with these completions, and starts: late ones by 20 s. */
const minute = (at: number, completed: number, [inTime, late]: readonly [number, number]): HistoryBucket => ({
  at: new Date(at * 60_000),
  scheduled: 0,
  started: inTime + late,
  completed,
  failed: 0,
  dead: 0,
  expired: 0,
  timed: 0,
  runTime: 0,
  byLateness: [
    { upTo: 10_000, started: inTime },
    { upTo: 60_000, started: late },
    { upTo: Infinity, started: 0 },
  ],
});
const BUSY = [1, 99] as const;
const CALM = [99, 1] as const;

describe('measuredCapacity', () => {
  it('is the highest minute between two others with a backlog', () => {
    const history = [
      minute(1, 500, CALM),
      minute(2, 900, BUSY), // the backlog may have begun in it
      minute(3, 610, BUSY),
      minute(4, 640, BUSY),
      minute(5, 700, BUSY), // it ended after it
      minute(6, 200, CALM),
    ];
    expect(measuredCapacity(history)).toEqual({ perMinute: 640, by: 'measured', at: new Date(4 * 60_000) });
  });

  it.each([
    ['without a history', []],
    ['if it was never late, however much it ran', [1, 2, 3].map((at) => minute(at, 9_000, CALM))],
    ['after a short downtime', [minute(1, 3, CALM), minute(2, 3, BUSY), minute(3, 3, CALM)]],
    ['if a minute is missing', [minute(1, 3, BUSY), minute(2, 3, BUSY), minute(4, 3, BUSY)]],
    ['if nothing succeeded', [1, 2, 3].map((at) => minute(at, 0, BUSY))],
  ])('is unknown %s', (_when, history) => {
    expect(measuredCapacity(history)).toBeUndefined();
  });
});

describe('a capacity', () => {
  const limit = { perMinute: 600, by: 'limit' } as const;
  const measured = (perMinute: number) => ({ perMinute, by: 'measured', at: new Date(0) }) as const;

  it('is known by a rate limit', () => {
    expect(limitCapacity({ rate: 10, per: 1_000, burst: 1 })).toEqual(limit);
    expect(limitCapacity({ concurrency: 5 })).toBeUndefined();
    expect(limitCapacity()).toBeUndefined();
  });

  it('is the lower of what is known', () => {
    expect(lowerOf(limit, measured(500))).toEqual(measured(500));
    expect(lowerOf(limit, measured(700))).toEqual(limit);
    expect(lowerOf(undefined, measured(700))).toEqual(measured(700));
    expect(lowerOf(limit, undefined)).toEqual(limit);
  });
});
