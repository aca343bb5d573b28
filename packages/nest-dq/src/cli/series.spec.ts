import { expect, it } from '@jest/globals';
import { linesOf } from 'nest-handlers/cli';
import type { SeriesView } from '../operate/series-view.js';
import { showSeries } from './series.js';

const NOW = Date.UTC(2030, 0, 1, 12);
const MINUTE = 60_000;

const NIGHTLY: SeriesView = {
  tube: 'report.nightly',
  key: 'recurring',
  plan: '0 3 * * * Europe/Berlin',
  processes: 2,
  state: 'waiting',
  next: new Date(NOW + 14 * 60 * MINUTE),
  later: [],
  last: {
    outcome: 'completed',
    dueAt: new Date(NOW - 600 * MINUTE),
    endedAt: new Date(NOW - 599 * MINUTE),
    attempt: 1,
    took: 63_500,
    process: 'shop-1:17',
  },
};
const CLEANUP: SeriesView = {
  tube: 'cleanup',
  key: 'recurring',
  plan: 'calendar first workday',
  processes: 0,
  unequal: true,
  state: 'retrying',
  next: new Date(NOW - 12 * MINUTE),
  missedSince: new Date(NOW - 12 * MINUTE),
  later: [],
  last: {
    outcome: 'retrying',
    dueAt: new Date(NOW - 60 * MINUTE),
    endedAt: new Date(NOW - 59 * MINUTE),
    attempt: 2,
    took: 31,
    process: 'shop-2:9',
    error: 'TypeError: x is undefined',
  },
};

it('shows when each series runs next, how it ran last, and what was missed', () => {
  const fresh: SeriesView = {
    tube: 'fresh',
    key: 'recurring',
    plan: '0 0 1 1 * UTC',
    processes: 1,
    state: 'none',
    later: [],
  };
  expect(linesOf(showSeries([NIGHTLY, CLEANUP, fresh], NOW))).toEqual([
    'SERIES          STATE     NEXT     LAST RUN   ENDED       TOOK   PROCESSES  SCHEDULE',
    'report.nightly  waiting   in 14h   completed  9h 59m ago  1m 3s  2          0 3 * * * Europe/Berlin',
    'cleanup         retrying  12m ago  retrying   59m ago     31ms   NONE       calendar first workday *',
    'fresh                                                            1          0 0 1 1 * UTC',
    '',
    '* differs between processes',
    'cleanup should have run 12m ago',
    'cleanup failed in shop-2:9: TypeError: x is undefined',
  ]);
  const narrow = linesOf(showSeries([NIGHTLY], NOW), { width: 80, paint: (_, text) => text });
  expect(narrow).toEqual([
    'SERIES          STATE    NEXT    LAST RUN   ENDED       TOOK   PROCESSES',
    'report.nightly  waiting  in 14h  completed  9h 59m ago  1m 3s          2',
    '    0 3 * * * Europe/Berlin',
  ]);
  expect(linesOf(showSeries([], NOW))).toEqual(['no process has recurring jobs']);
});
