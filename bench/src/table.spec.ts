import { describe, expect, it } from '@jest/globals';
import type { Result } from './measure.js';
import { table } from './table.js';

const result: Result = {
  measure: 'schedule',
  ours: 'nest-dq',
  title: 'adds',
  machine: 'Node',
  took: 61.2,
  rows: [
    {
      what: '3 copies',
      unit: 'jobs/s',
      ours: { median: 40_000, low: 39_000, high: 41_000 },
      beside: { name: 'BullMQ', median: 20_000, low: 20_000, high: 20_000 },
      ratio: 2,
      target: { of: 'ratio', least: 2 },
      met: true,
      disturbance: { took: 10, stolen: 0.24, disk: 4.4 },
    },
    {
      what: '1 copy',
      unit: 'jobs/s',
      ours: { median: 50_000, low: 50_000, high: 50_000 },
      disturbance: { took: 10, stolen: 12.04 },
    },
  ],
};

describe('table', () => {
  it('has what disturbed the machine beside each row', () => {
    expect(table(result)).toBe(
      [
        'schedule: adds (61 s)',
        '                    nest-dq          range  beside  range          ratio  target  met  stolen   disk',
        '  3 copies, jobs/s   40,000  39,000–41,000  20,000         BullMQ  2.00×    ≥ 2×  yes   0.2 %  4.4 %',
        '  1 copy, jobs/s     50,000                                                            12.0 %',
        '',
      ].join('\n'),
    );
  });

  it('says of how many runs it is the median', () => {
    expect(table({ ...result, runs: 3 }).split('\n')[0]).toBe('schedule: adds (median of 3 runs, 61 s)');
  });
});
