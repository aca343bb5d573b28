import { describe, expect, it } from '@jest/globals';
import { percentile, tableLine } from './figures.js';

describe('percentile', () => {
  it('is the value below which that part of the samples are, in any order', () => {
    const samples = Array.from({ length: 100 }, (_, i) => 99 - i);
    expect(percentile(samples, 0.5)).toBe(50);
    expect(percentile(samples, 0.99)).toBe(99);
    expect(percentile(samples, 1)).toBe(99);
  });

  it('is no number without samples', () => {
    expect(percentile([], 0.5)).toBeNaN();
  });
});

it('a line of a table has its first cell left and the others right', () => {
  expect(tableLine(['a', '5', '66', ''], [3, 3, 3, 3])).toBe('a      5   66');
});
