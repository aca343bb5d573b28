import { describe, expect, it } from '@jest/globals';
import { barsOf, tubeHistoryOf } from './history.js';
import { addLateness, latenessAt, type Lateness } from './lateness.js';
import { spanOf } from './scales.js';
import { stepOf } from './steps.js';

const MINUTE = 60_000;
const ENDS = [10, 100, 1_000, 10_000, 60_000, null];
const classes = (...started: number[]): Lateness =>
  ENDS.map((upTo, i) => ({ upTo, started: started[i] ?? 0 }));
const minute = (at: number, ...started: number[]) => ({
  at: new Date(at).toISOString(),
  scheduled: 1,
  started: started.reduce((a, b) => a + b, 0),
  completed: 2,
  failed: 3,
  dead: 4,
  byLateness: classes(...started),
});

describe('latenessAt', () => {
  it('is the end of the class in which the share is reached', () => {
    expect(latenessAt(0.5, classes(50, 49, 1))).toBe(10);
    expect(latenessAt(0.5, classes(49, 50, 1))).toBe(100);
    expect(latenessAt(0.99, classes(98, 1, 1))).toBe(100);
    expect(latenessAt(0.99, classes(98, 0, 0, 0, 0, 2))).toBe(Infinity);
    expect(latenessAt(0.5, classes())).toBeUndefined();
    expect(latenessAt(0.5, [])).toBeUndefined();
  });

  it('is that of all minutes together', () => {
    expect(addLateness([classes(1, 2), classes(3, 0, 0, 0, 0, 5)])).toEqual(classes(4, 2, 0, 0, 0, 5));
  });

  it('stands on a step of the chart', () => {
    expect([10, 11, 60_000, 60_001, Infinity].map(stepOf)).toEqual([1, 2, 5, 6, 6]);
  });
});

describe('barsOf', () => {
  it('adds up the minutes of each bar, and leaves out what is in none', () => {
    const span = spanOf(10 * MINUTE, 14 * MINUTE, 2, () => 0);
    const minutes = [9, 10, 11, 14].map((at) => minute(at * MINUTE, 5));
    const { counts, p50, p99 } = barsOf(minutes, span);
    expect(counts).toEqual({
      scheduled: [2, 0],
      started: [10, 0],
      completed: [4, 0],
      failed: [6, 0],
      dead: [8, 0],
    });
    expect([p50, p99]).toEqual([
      [10, undefined],
      [10, undefined],
    ]);
  });
});

describe('tubeHistoryOf', () => {
  it('sums the hours of a tube as a whole and per bar of a span', () => {
    const span = spanOf(0, 180 * MINUTE, 3, () => 0);
    const hour = (at: number, ...started: number[]) => ({
      at: new Date(at * 60 * MINUTE).toISOString(),
      started,
    });
    const hours = [hour(0, 98, 0, 0, 0, 0, 0), hour(2, 0, 1, 0, 0, 0, 1)];
    expect(tubeHistoryOf({ tube: 't', perMinute: 7, hours }, span)).toEqual({
      perMinute: 7,
      half: 10,
      most: 100,
      p50: [10, undefined, 100],
      p99: [10, undefined, Infinity],
    });
    expect(tubeHistoryOf({ tube: 't', perMinute: 0, hours: [] }, span)).toMatchObject({
      half: undefined,
      most: undefined,
      p50: [undefined, undefined, undefined],
    });
  });
});
