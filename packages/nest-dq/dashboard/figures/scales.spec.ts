import { describe, expect, it } from '@jest/globals';
import { spanOf, timeMarks, valueMarks } from './scales.js';

const at = (text: string) => Date.parse(text);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe('spanOf', () => {
  it('shows an hour in whole minutes, which cover it', () => {
    const from = at('2026-03-01T10:20:30Z');
    const span = spanOf(from, from + HOUR, 62, 0);
    expect(span).toEqual({
      from: at('2026-03-01T10:20:00Z'),
      to: at('2026-03-01T11:21:00Z'),
      step: MINUTE,
      bars: 61,
    });
  });

  it('shows a month in days of the viewer', () => {
    const from = at('2026-03-01T10:20:30Z');
    expect(spanOf(from, from + 30 * DAY, 32, -330)).toEqual({
      from: at('2026-02-28T18:30:00Z'),
      to: at('2026-03-31T18:30:00Z'),
      step: DAY,
      bars: 31,
    });
  });

  it('covers each span with at most so many bars, of which none lies outside', () => {
    const from = at('2026-12-31T23:59:59Z') + 123;
    for (const offset of [0, -345, 480])
      for (const most of [2, 7, 62, 200])
        for (let length = 1; length < 4_000 * DAY; length = length * 3 + 1) {
          const span = spanOf(from, from + length, most, offset);
          expect(span.bars).toBeLessThanOrEqual(most);
          expect(span.from).toBeLessThanOrEqual(from);
          expect(span.to).toBeGreaterThanOrEqual(from + length);
          expect(span.to - span.from).toBe(span.bars * span.step);
          expect(span.from + span.step).toBeGreaterThan(from);
          expect(span.to - span.step).toBeLessThan(from + length);
        }
  });
});

describe('timeMarks', () => {
  it('names round times of the viewer', () => {
    const from = at('2026-03-01T10:20:00Z');
    const span = spanOf(from, from + HOUR, 62, 0);
    expect(timeMarks(span, 5, 0).map((mark) => new Date(mark).toISOString().slice(11, 16))).toEqual([
      '10:30',
      '10:45',
      '11:00',
      '11:15',
    ]);
  });

  it('names at most so many, also of spans that are longer than any known step', () => {
    const from = at('2026-03-01T10:20:00Z');
    for (let length = 1_000; length < 4_000 * DAY; length = length * 3 + 1)
      for (const most of [2, 5, 20])
        expect(timeMarks(spanOf(from, from + length, 62, 0), most, 0).length).toBeLessThanOrEqual(most + 1);
  });
});

describe('valueMarks', () => {
  it('counts in round steps, up to the first that reaches the highest value', () => {
    expect(valueMarks(780, 4)).toEqual([0, 200, 400, 600, 800]);
    expect(valueMarks(1, 4)).toEqual([0, 1]);
    expect(valueMarks(0, 4)).toEqual([0, 1]);
    expect(valueMarks(182_340, 4)).toEqual([0, 50_000, 100_000, 150_000, 200_000]);
  });
});
