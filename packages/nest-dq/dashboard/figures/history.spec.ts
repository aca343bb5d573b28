import { describe, expect, it } from '@jest/globals';
import { barsOf, firstHourOf, shortHistoryFrom, tubeHistoryOf } from './history.js';
import { addLateness, latenessAt, type Lateness } from './lateness.js';
import { spanOf } from './scales.js';
import { LATENESS_STEPS, stepMarks, stepOf } from './steps.js';

const MINUTE = 60_000;
const classes = (...started: number[]): Lateness =>
  LATENESS_STEPS.map((end, i) => ({ upTo: end === Infinity ? null : end, started: started[i] ?? 0 }));
const minute = (at: number, ...started: number[]) => ({
  at: new Date(at).toISOString(),
  scheduled: 1,
  started: started.reduce((a, b) => a + b, 0),
  completed: 2,
  failed: 3,
  dead: 4,
  expired: 5,
  timed: 5,
  runTime: 60,
  byLateness: classes(...started),
});

describe('latenessAt', () => {
  it('is the end of the class in which the share is reached', () => {
    expect(latenessAt(0.5, classes(50, 49, 1))).toBe(1);
    expect(latenessAt(0.5, classes(49, 50, 1))).toBe(2);
    expect(latenessAt(0.99, classes(98, 1, 1))).toBe(2);
    expect(latenessAt(0.99, [...classes(98).slice(0, -1), { upTo: null, started: 2 }])).toBe(Infinity);
    expect(latenessAt(0.5, classes())).toBeUndefined();
    expect(latenessAt(0.5, [])).toBeUndefined();
  });

  it('is that of all minutes together', () => {
    expect(addLateness([classes(1, 2), classes(3, 0, 0, 0, 0, 5)])).toEqual(classes(4, 2, 0, 0, 0, 5));
  });

  it('stands on a step of the chart', () => {
    expect([0, 1, 2, 21, 86_400_000, 86_400_001, Infinity].map(stepOf)).toEqual([1, 1, 2, 6, 17, 18, 18]);
  });

  it('is at most two and a half times the true lateness up to ten seconds, and ten times up to an hour', () => {
    const ratios = LATENESS_STEPS.slice(1, -1).map((end, i) => end / LATENESS_STEPS[i]!);
    expect(Math.max(...ratios.slice(0, 12))).toBe(2.5);
    expect(Math.max(...ratios.slice(0, 15))).toBe(10);
  });

  it('limits the marks on the axis, and the highest step among them', () => {
    expect(stepMarks(5, 6)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(stepMarks(9, 6)).toEqual([0, 1, 3, 5, 7, 9]);
    expect(stepMarks(18, 6)).toEqual([0, 3, 6, 9, 12, 15, 18]);
  });
});

describe('barsOf', () => {
  it('adds up the minutes of each bar, and leaves out what is in none', () => {
    const span = spanOf(10 * MINUTE, 14 * MINUTE, 2, () => 0);
    const minutes = [9, 10, 11, 14].map((at) => minute(at * MINUTE, 5));
    const { counts, means, mean, p50, p99 } = barsOf(minutes, span);
    expect([means, mean]).toEqual([[12, undefined], 12]);
    expect(counts).toEqual({
      scheduled: [2, 0],
      started: [10, 0],
      completed: [4, 0],
      failed: [6, 0],
      dead: [8, 0],
      expired: [10, 0],
    });
    expect([p50, p99]).toEqual([
      [1, undefined],
      [1, undefined],
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
    expect(tubeHistoryOf({ tube: 't', perMinute: 7, hours, minutes: [] }, span)).toEqual({
      perMinute: 7,
      half: 1,
      most: 2,
      p50: [1, undefined, 2],
      p99: [1, undefined, 50],
    });
    expect(tubeHistoryOf({ tube: 't', perMinute: 0, hours: [], minutes: [] }, span)).toMatchObject({
      half: undefined,
      most: undefined,
      p50: [undefined, undefined, undefined],
    });
  });

  it('has a bar for each minute of a short history', () => {
    const at = (minute: number, ...started: number[]) => ({
      at: new Date(minute * MINUTE).toISOString(),
      started,
    });
    const histories = [
      { tube: 't', perMinute: 1, hours: [at(0, 2, 1)], minutes: [at(8, 2), at(10, 0, 1)] },
      { tube: 'u', perMinute: 1, hours: [at(0, 2)], minutes: [at(7, 2)] },
    ];
    const from = shortHistoryFrom(histories)!;
    expect(from).toBe(7 * MINUTE);
    const { half, p50 } = tubeHistoryOf(
      histories[0]!,
      spanOf(from, 11 * MINUTE, 5, () => 0),
    );
    expect([half, p50]).toEqual([1, [undefined, 1, undefined, 2]]);
    expect(shortHistoryFrom([{ ...histories[0]!, minutes: [] }])).toBeUndefined();
  });

  it('of a young cluster begins with its first hour, so that its line is no wider than what is known', () => {
    const at = (hour: number) => ({ at: new Date(hour * 60 * MINUTE).toISOString(), started: [1] });
    const tube = { tube: 't', perMinute: 1, minutes: [] };
    const histories = [
      { ...tube, hours: [at(5), at(7)] },
      { ...tube, tube: 'u', hours: [at(4)] },
    ];
    const from = firstHourOf(histories)!;
    expect(from).toBe(4 * 60 * MINUTE);
    const end = 7.5 * 60 * MINUTE;
    const span = spanOf(from, end, 5, () => 0);
    expect(tubeHistoryOf(histories[0]!, span).p50).toEqual([undefined, 1, undefined, 1]);
    expect(firstHourOf([])).toBeUndefined();
  });
});
