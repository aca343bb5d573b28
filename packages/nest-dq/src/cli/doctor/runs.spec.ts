import { expect, it } from '@jest/globals';
import { VirtualClock } from 'nest-handlers/testing';
import type { RecentRuns } from '../../operate/recent-runs.js';
import type { ProcessTubeView, ProcessView } from '../../operate/processes.js';
import type { TubeView } from '../../operate/tube-view.js';
import { checkRuns } from './runs.js';

const NOW = Date.UTC(2026, 10, 29, 0, 17);
const SINCE = '2026-11-29T00:15:00Z (2m ago)';
const LATE = { due: 7, overdue: 7, oldestDue: new Date(NOW - 120_000), overdueFor: 120_000 };

interface Given {
  readonly tube?: Partial<TubeView>;
  readonly load?: Partial<ProcessTubeView>;
  readonly runs?: Partial<RecentRuns>;
  readonly meanRun?: number;
  /** Processes that fell silent two minutes ago. */
  readonly gone?: readonly number[];
}

/** The checks of one tube, `mail`. */
function checksOf({ tube = {}, load = {}, runs, meanRun, gone = [] }: Given) {
  const view = {
    tube: 'mail',
    nodes: 3,
    waiting: 0,
    due: 0,
    running: 0,
    dead: 0,
    watching: 3,
    consumers: 1,
    ...tube,
  };
  const loads = [{ tube: 'mail', concurrency: 2, running: 0, held: 0, longRuns: [], ...load }];
  const processes = [{ host: 'web', pid: 1, toldAt: new Date(NOW), tubes: loads } as unknown as ProcessView];
  const inspector = {
    goneProcesses: async () =>
      gone.map((pid) => ({ host: 'web', pid, toldAt: new Date(NOW - 120_000) }) as ProcessView),
    recentRuns: async () => new Map(runs ? [['mail', { completed: 0, failed: 0, ...runs }]] : []),
    historyOfTubes: async () => [{ tube: 'mail', ...(meanRun !== undefined && { meanRun }) }] as never,
  };
  const tubes = { tubes: [view], more: false, away: [] };
  return checkRuns(inspector, { tubes, processes }, new VirtualClock(), NOW);
}

it('a tube that runs well has no check', async () => {
  expect(await checksOf({ runs: { completed: 1_000, failed: 20 } })).toEqual([]);
});

it('runs that fail say how many, and where their errors are', async () => {
  expect(await checksOf({ tube: { dead: 12 }, runs: { completed: 8, failed: 40 } })).toEqual([
    {
      level: 'warning',
      about: 'mail',
      fact: '40 of 48 recent runs failed; 12 dead letters',
      advice:
        'see why: `nest-dq dead groups mail`; to keep attempts until it is mended: `nest-dq pause mail --until 30m`',
    },
  ]);
  expect(await checksOf({ runs: { failed: 40 } })).toMatchObject([
    { advice: expect.stringContaining('`nest-dq jobs mail --state retrying`') },
  ]);
});

it.each<[Given, string, string]>([
  [
    { tube: { limits: { concurrency: 2, running: 2 } } },
    'its limit of 2 runs at once is reached',
    'limit mail --concurrency N',
  ],
  [{ tube: { limits: { rate: 1, per: 1_000 } } }, 'limited to 1 run in 1s', 'limit mail --rate N'],
  [{ tube: { limits: { perGroup: 3 } } }, 'limited to 3 runs per group at once', 'limit mail --per-group N'],
  [{ load: { running: 2 } }, 'all 2 slots of its processes are taken', 'running mail'],
])('jobs that are late have their cause: %j', async ({ tube, load = {} }, cause, command) => {
  expect(await checksOf({ tube: { ...LATE, ...tube }, load })).toEqual([
    {
      level: 'warning',
      about: 'mail',
      fact: `7 jobs overdue, the oldest since ${SINCE}: ${cause}`,
      advice: expect.stringContaining(`\`nest-dq ${command}\``),
    },
  ]);
});

it('jobs that are late without a known cause lead to one of them', async () => {
  expect(await checksOf({ tube: LATE })).toMatchObject([
    {
      fact: `7 jobs overdue, the oldest since ${SINCE}, although processes have free slots`,
      advice: expect.stringContaining('`nest-dq explain`'),
    },
  ]);
});

it('runs that are probably stuck are named, the longest first', async () => {
  const longRuns = [
    { id: 'B', key: 'order-2', attempt: 1, since: new Date(NOW - 60_000) },
    { id: 'A', attempt: 1, since: new Date(NOW - 90_000) },
    { id: 'C', attempt: 1, since: new Date(NOW - 5_000) },
  ];
  expect(await checksOf({ load: { running: 3, longRuns }, meanRun: 31 })).toMatchObject([
    { about: 'mail', fact: 'A has run for 1m 30s in web:1, usually 31ms: probably stuck, and 1 other' },
  ]);
});

it('processes that fell silent are one check', async () => {
  expect(await checksOf({ gone: [2, 3, 4, 5] })).toMatchObject([
    {
      level: 'warning',
      about: 'processes',
      fact: `4 processes have fallen silent without a goodbye: web:2 since ${SINCE}, web:3 since ${SINCE}, web:4 since ${SINCE}, and 1 more`,
    },
  ]);
});
