import { describe, expect, it } from '@jest/globals';
import { chart } from './chart.js';
import { row } from './figures.js';
import type { Result, Unit } from './measure.js';

const result = (measure: string, what: string, unit: Unit, ours: number, beside: number): Result => ({
  measure,
  title: '',
  took: 1,
  stolen: 0,
  rows: [row({ what, unit, ours: [ours], beside: [beside] })],
});
const RESULTS = [
  result('schedule', '3 copies', 'jobs/s', 30_000, 20_000),
  result('drain', '20,000 jobs', 'jobs/s', 31_000, 10_000),
  result('lateness', '2,000/s: p99', 'ms', 2, 100),
];

describe('chart', () => {
  it('draws the longer bar at full length, and the other in proportion', () => {
    const widths = [...chart(RESULTS, '').matchAll(/<rect class="(?:ours|peer)"[^>]* width="([\d.]+)"/g)].map(
      ([, width]) => Number(width),
    );
    expect(widths).toEqual([500, 333.3, 500, 161.3, 10, 500]);
  });

  it('names the figures, and says where they come from', () => {
    const svg = chart(RESULTS, 'a machine of R&D');
    for (const text of ['30,000 jobs/s', '10,000 jobs/s', '2.00 ms', 'a machine of R&amp;D']) {
      expect(svg).toContain(text);
    }
  });

  it('says which measure it lacks', () => {
    expect(() => chart(RESULTS.slice(1), '')).toThrow('it needs the measure schedule');
  });
});
