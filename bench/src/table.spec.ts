import { describe, expect, it } from '@jest/globals';
import { row } from './figures.js';
import { number, table } from './table.js';

describe('table', () => {
  it('shows medians, ranges, the ratio, and whether the target is met, in columns', () => {
    const rows = [
      row({
        what: '3 copies',
        unit: 'jobs/s',
        ours: [30_000, 31_000, 29_000],
        beside: [20_000, 20_000, 20_000],
        target: { of: 'ratio', least: 1.2 },
      }),
      row({ what: 'early', unit: 'jobs', ours: [1], target: { of: 'ours', most: 0 } }),
    ];
    expect(table({ measure: 'schedule', title: 'adds', took: 12.3, stolen: 0.52, rows })).toBe(
      [
        'schedule: adds (12 s, 0.5 % stolen)',
        '                    nest-dq          range  beside  range          ratio    target  met',
        '  3 copies, jobs/s   30,000  29,000–31,000  20,000         BullMQ  1.50×    ≥ 1.2×  yes',
        '  early, jobs             1                                               ≤ 0 jobs   NO',
        '',
      ].join('\n'),
    );
  });

  it('tells what the disk held up, where that is known', () => {
    const result = { measure: 'x', title: 'adds', took: 7, stolen: 0, disk: 12.34, rows: [] };
    expect(table(result)).toContain('x: adds (7 s, 0.0 % stolen, 12.3 % held up by the disk)');
  });

  it('shows a dash for what there is not', () => {
    expect(number(NaN, 'ms')).toBe('–');
  });

  it('does not show nothing as less than nothing', () => {
    expect(number(-0.2, 'bytes/job')).toBe('0');
    const rows = [row({ what: 'Redis', unit: 'bytes/job', ours: [-0.2], beside: [900] })];
    expect(table({ measure: 'x', title: 'x', took: 0, stolen: 0, rows })).toContain(' 0.000×');
  });

  it('gives milliseconds two digits, and small ratios three', () => {
    expect(number(1.234, 'ms')).toBe('1.23');
    const rows = [row({ what: 'p99', unit: 'ms', ours: [1], beside: [80] })];
    expect(table({ measure: 'x', title: 'x', took: 0, stolen: 0, rows })).toContain('0.013×');
  });
});
