import { expect, it } from '@jest/globals';
import { linesOf } from 'nest-handlers/cli';
import { showBars } from './due.js';

const AT = Date.UTC(2026, 10, 28, 18);
const buckets = (...jobs: number[]) =>
  jobs.map((count, i) => ({
    from: new Date(AT + i * 60_000),
    to: new Date(AT + (i + 1) * 60_000),
    jobs: count,
  }));

it('the chart begins and ends with jobs, and says so', () => {
  expect(linesOf(showBars(buckets(0, 0, 2, 0, 1, 0), AT))).toEqual([
    'FROM                  JOBS',
    `2026-11-28T18:02:00Z     2  ${'█'.repeat(40)}`,
    '2026-11-28T18:03:00Z     0',
    `2026-11-28T18:04:00Z     1  ${'█'.repeat(20)}`,
    'from 2026-11-28T18:00:00Z to 2026-11-28T18:06:00Z; 3 rows without jobs before or after left out',
  ]);
  expect(linesOf(showBars(buckets(0, 0), AT))).toEqual([
    'no jobs come due from 2026-11-28T18:00:00Z to 2026-11-28T18:02:00Z',
  ]);
  expect(linesOf(showBars([], AT))).toEqual(['no tubes']);
});

it('bars are shorter on a narrow terminal, never cut', () => {
  const page = { width: 60, paint: (_: unknown, text: string) => text };
  const [, bar] = linesOf(showBars(buckets(5), AT, 60), page);
  expect(bar).toBe(`2026-11-28T18:00:00Z     5  ${'█'.repeat(29)}`);
});
