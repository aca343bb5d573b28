import { describe, expect, it } from '@jest/globals';
import type { HistoryBucket } from '../operate/history-view.js';
import { linesOf } from 'nest-handlers/cli';
import { byHour, showBuckets } from './history.js';

const CLASSES = [10, 100, 1_000, 10_000, 60_000, Infinity];

function bucket(at: string, starts: readonly number[], more: Partial<HistoryBucket> = {}): HistoryBucket {
  return {
    at: new Date(at),
    scheduled: 5,
    started: starts.reduce((sum, count) => sum + count, 0),
    completed: 2,
    failed: 1,
    dead: 0,
    expired: 0,
    timed: 0,
    runTime: 0,
    byLateness: CLASSES.map((upTo, i) => ({ upTo, started: starts[i] ?? 0 })),
    ...more,
  };
}

const NOW = Date.UTC(2027, 0, 1, 12);

const MINUTES = [
  bucket('2027-01-01T10:58:00Z', [3]),
  bucket('2027-01-01T10:59:00Z', [1, 0, 0, 2], { timed: 3, runTime: 93 }),
  bucket('2027-01-01T11:00:00Z', [0, 0, 0, 0, 0, 4], { scheduled: 0, dead: 1_000, timed: 1, runTime: 0.2 }),
];

describe('the history', () => {
  it('is a table of minutes with their sum', () => {
    expect(linesOf(showBuckets(MINUTES, 'minute', NOW))).toEqual([
      'MINUTE             ADDED  STARTED  COMPLETED  FAILED   DEAD  EXPIRED  LATE  LATEST   MEAN',
      '2027-01-01T10:58Z      5        3          2       1      0        0     0  ≤ 10ms',
      '2027-01-01T10:59Z      5        3          2       1      0        0     2  ≤ 10s    31ms',
      '2027-01-01T11:00Z      0        4          2       1  1,000        0     4  over 1m  < 1ms',
      'all                   10       10          6       3  1,000        0     6  over 1m  23ms',
      '',
      '3 minutes; minutes without activity are left out',
    ]);
    expect(linesOf(showBuckets([], 'hour', NOW))).toEqual(['no activity reported']);
  });

  it('has times without their date on a narrow terminal, if they are of today, or else without their year', () => {
    const page = { width: 80, paint: (_: unknown, text: string) => text };
    const [head, first] = linesOf(showBuckets(MINUTES, 'minute', NOW), page);
    expect([head, first]).toEqual([
      'MINUTE  ADDED  STARTED  COMPLETED  FAILED   DEAD  EXPIRED  LATE  LATEST   MEAN',
      '10:58Z      5        3          2       1      0        0     0  ≤ 10ms',
    ]);
    const [, later] = linesOf(showBuckets(MINUTES, 'minute', NOW + 86_400_000), page);
    expect(later).toMatch(/^01-01T10:58Z {6}5 /);
  });

  it('is summed up by the hour', () => {
    expect(byHour(MINUTES)).toEqual([
      bucket('2027-01-01T10:00:00Z', [4, 0, 0, 2], {
        scheduled: 10,
        completed: 4,
        failed: 2,
        timed: 3,
        runTime: 93,
      }),
      { ...MINUTES[2]!, at: new Date('2027-01-01T11:00:00Z') },
    ]);
  });
});
