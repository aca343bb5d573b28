import { describe, expect, it } from '@jest/globals';
import { figure, row } from './figures.js';

describe('figure', () => {
  it('is the median of the rounds, and their range', () => {
    expect(figure([30, 10, 20])).toEqual({ median: 20, low: 10, high: 30 });
    expect(figure([40, 10, 20, 30])).toEqual({ median: 25, low: 10, high: 40 });
    expect(figure([7])).toEqual({ median: 7, low: 7, high: 7 });
  });
});

describe('row', () => {
  it('compares the medians, ours with the other', () => {
    const { ratio, beside } = row({ what: 'x', unit: 'jobs/s', ours: [30, 40, 50], beside: [10, 20, 90] });
    expect(ratio).toBe(2);
    expect(beside).toEqual({ name: 'BullMQ', median: 20, low: 10, high: 90 });
  });

  it('has no ratio where there is nothing to divide by', () => {
    expect(row({ what: 'x', unit: 'ms', ours: [1] })).not.toHaveProperty('ratio');
    expect(row({ what: 'x', unit: 'ms', ours: [1], beside: [0] })).not.toHaveProperty('ratio');
  });

  it('holds the ratio against its target', () => {
    const met = (least: number) =>
      row({ what: 'x', unit: 'jobs/s', ours: [24], beside: [20], target: { of: 'ratio', least } }).met;
    expect(met(1.2)).toBe(true);
    expect(met(1.21)).toBe(false);
  });

  it('holds our own median against its target', () => {
    const met = (...ours: number[]) =>
      row({ what: 'x', unit: 'ms', ours, target: { of: 'ours', most: 5 } }).met;
    expect(met(4, 5, 9)).toBe(true);
    expect(met(4, 5.1, 9)).toBe(false);
    expect(met()).toBe(false);
  });

  it('does not meet a target for a ratio that there is not', () => {
    expect(row({ what: 'x', unit: 'ms', ours: [1], target: { of: 'ratio', most: 2 } }).met).toBe(false);
  });
});
