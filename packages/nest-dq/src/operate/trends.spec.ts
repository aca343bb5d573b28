import { describe, expect, it } from '@jest/globals';
import { Trends } from './trends.js';

function seen(...values: readonly (readonly [at: number, value: number | undefined])[]) {
  const trends = new Trends();
  let last;
  for (const [at, value] of values)
    last = trends.look(at, new Map(value === undefined ? [] : [['t', value]])).get('t');
  return last;
}

describe('the trend of a number', () => {
  it('is unknown until two looks are four seconds apart', () => {
    expect(seen([0, 5])).toEqual({});
    expect(seen([0, 5], [3_999, 50])).toEqual({});
  });

  it('shrinks, and ends at the present rate', () => {
    expect(seen([0, 100], [2_000, 90], [10_000, 50])).toEqual({ trend: 'shrinking', caughtUpIn: 10_000 });
    expect(seen([0, 10], [4_000, 0])).toEqual({ trend: 'shrinking', caughtUpIn: 0 });
  });

  it('grows, or is steady, without an end', () => {
    expect(seen([0, 5], [4_000, 7])).toEqual({ trend: 'growing' });
    expect(seen([0, 5], [4_000, 6])).toEqual({ trend: 'steady' });
    expect(seen([0, 251], [4_000, 250])).toEqual({ trend: 'steady' });
    expect(seen([0, 5], [2_000, 9], [4_000, 5])).toEqual({ trend: 'steady' });
  });

  it('is that of the last minute, and starts over after a look without it', () => {
    expect(seen([0, 5], [50_000, 50], [61_000, 40])).toMatchObject({ trend: 'shrinking' });
    expect(seen([0, 5], [2_000, undefined], [4_000, 9])).toEqual({});
  });
});
