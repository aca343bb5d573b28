import { describe, expect, it } from '@jest/globals';
import { type HistoryBucket, inSteps } from './history-view.js';

const MINUTE = 60_000;
const NOON = Date.UTC(2030, 0, 31, 12);
const at = (minute: number, seconds = 0) => new Date(NOON + minute * MINUTE + seconds * 1_000);
const bucket = (minute: number, n: number): HistoryBucket => ({
  at: at(minute),
  scheduled: n,
  started: 2 * n,
  completed: 3 * n,
  failed: 4 * n,
  dead: 5 * n,
  expired: 9 * n,
  timed: 6 * n,
  runTime: 7 * n,
  byLateness: [
    { upTo: 10, started: n },
    { upTo: Infinity, started: n },
  ],
});

describe('the history in steps', () => {
  it('adds up the minutes of each step, from the one with the begin on', () => {
    const history = [bucket(7, 1), bucket(8, 10), bucket(10, 100), bucket(20, 1_000)];
    expect(inSteps(history, at(7, 30), 3)).toEqual([bucket(7, 11), bucket(10, 100), bucket(19, 1_000)]);
  });

  it('is that of each minute in steps of one', () => {
    const history = [bucket(7, 1), bucket(8, 2)];
    expect(inSteps(history, at(0), 1)).toEqual(history);
  });

  it.each([0, 1_441, 1.5])('refuses steps of %d minutes', (minutes) => {
    expect(() => inSteps([], at(0), minutes)).toThrow(/`minutes`.*1 to 1440/);
  });
});
