import { describe, expect, it } from '@jest/globals';
import { figure, row } from './figures.js';
import { Rounds } from './rounds.js';

/** Rounds that took `seconds`, with `stolen` % of the CPU time stolen. */
function rounds(values: readonly number[], seconds = 1, stolen = 0): Rounds<number> {
  return new Rounds(values, {
    at: 1_000 * seconds,
    processors: 100 * seconds,
    stolen: stolen * seconds,
    disk: 0,
  });
}

describe('figure', () => {
  it('is the median of the rounds, and their range', () => {
    expect(figure([30, 10, 20])).toEqual({ median: 20, low: 10, high: 30 });
    expect(figure([40, 10, 20, 30])).toEqual({ median: 25, low: 10, high: 40 });
    expect(figure([7])).toEqual({ median: 7, low: 7, high: 7 });
  });
});

describe('row', () => {
  it('compares the medians, ours with the other', () => {
    const { ratio, beside } = row({
      what: 'x',
      unit: 'jobs/s',
      ours: rounds([30, 40, 50]),
      beside: rounds([10, 20, 90]),
    });
    expect(ratio).toBe(2);
    expect(beside).toEqual({ name: 'BullMQ', median: 20, low: 10, high: 90 });
  });

  it('has no ratio where there is nothing to divide by', () => {
    expect(row({ what: 'x', unit: 'ms', ours: rounds([1]) })).not.toHaveProperty('ratio');
    expect(row({ what: 'x', unit: 'ms', ours: rounds([1]), beside: rounds([0]) })).not.toHaveProperty(
      'ratio',
    );
  });

  it('holds the ratio against its target', () => {
    const [ours, beside] = [rounds([24]), rounds([20])];
    const met = (least: number) =>
      row({ what: 'x', unit: 'jobs/s', ours, beside, target: { of: 'ratio', least } }).met;
    expect(met(1.2)).toBe(true);
    expect(met(1.21)).toBe(false);
  });

  it('holds our own median against its target', () => {
    const met = (...ours: number[]) =>
      row({ what: 'x', unit: 'ms', ours: rounds(ours), target: { of: 'ours', most: 5 } }).met;
    expect(met(4, 5, 9)).toBe(true);
    expect(met(4, 5.1, 9)).toBe(false);
    expect(met()).toBe(false);
  });

  it('lets no round have any of what may not be', () => {
    const met = (...ours: number[]) =>
      row({ what: 'lost', unit: 'jobs', ours: rounds(ours), target: { of: 'ours', most: 0 } }).met;
    expect(met(0, 0, 0)).toBe(true);
    expect(met(0, 0, 1)).toBe(false);
    expect(met()).toBe(false);
  });

  it('does not meet a target for a ratio that there is not', () => {
    expect(row({ what: 'x', unit: 'ms', ours: rounds([1]), target: { of: 'ratio', most: 2 } }).met).toBe(
      false,
    );
  });

  it('says how the machine was disturbed in the rounds of both', () => {
    const { disturbance } = row({
      what: 'x',
      unit: 'ms',
      ours: rounds([1], 3, 4),
      beside: rounds([1], 1, 0),
    });
    expect(disturbance).toEqual({ took: 4, stolen: 3, disk: 0 });
  });

  it('counts the time of rounds once in which both were measured', () => {
    const both = rounds([1], 3, 4);
    const { disturbance } = row({ what: 'x', unit: 'ms', ours: both, beside: both.map((ms) => 2 * ms) });
    expect(disturbance).toEqual({ took: 3, stolen: 4, disk: 0 });
  });
});
