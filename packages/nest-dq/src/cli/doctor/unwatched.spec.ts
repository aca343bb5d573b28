import { expect, it } from '@jest/globals';
import type { ProcessRecord } from '../../fleet/presence.js';
import { checkUnwatched, type UnwatchedTube } from './unwatched.js';

const NOW = Date.UTC(2026, 10, 29, 0, 17);
const process = (pid: number) => ({ id: String(pid), host: 'web', pid }) as ProcessRecord;
const tube = (about: string, more: Partial<UnwatchedTube> = {}): UnwatchedTube => {
  return { about, jobs: 10, due: 0, oldestDue: undefined, handling: [], ...more };
};
const around = {
  now: NOW,
  isNobodyThere: false,
  heardAt: ({ pid }: ProcessRecord) => NOW - pid * 1_000,
  lastRun: async () => new Date(NOW - 60_000),
};
const LATE = { due: 4, oldestDue: new Date(NOW - 120_000) };

it('no process at all is one cause, with all jobs, since when, and the last run', async () => {
  const tubes = [tube('a', LATE), tube('b', { due: 1, oldestDue: new Date(NOW - 1_000) }), tube('c')];
  expect(await checkUnwatched(tubes, { ...around, isNobodyThere: true })).toEqual([
    {
      level: 'failure',
      about: 'processes',
      fact:
        'none of the application is running, and about 30 jobs in 3 tubes, 5 due, the oldest since 2026-11-29T00:15:00Z ' +
        '(2m ago); the last run started in the minute of 2026-11-29T00:16:00Z (1m ago)',
      advice: 'start the application: what is due then runs at once',
    },
  ]);
  const lastRun = async () => undefined;
  expect(await checkUnwatched([tube('a')], { ...around, isNobodyThere: true, lastRun })).toMatchObject([
    { level: 'warning', fact: 'none of the application is running, and about 10 jobs in 1 tube, none due' },
  ]);
  expect(await checkUnwatched([], { ...around, isNobodyThere: true })).toEqual([]);
});

it('processes that reserve from no tube are one cause, with when they were last heard of', async () => {
  const handling = [process(9), process(7)];
  const tubes = ['a', 'b', 'c', 'd'].map((name) => tube(name, { handling }));
  expect(await checkUnwatched(tubes, around)).toEqual([
    {
      level: 'warning',
      about: 'processes',
      fact: 'web:9 and web:7 have handlers for 4 tubes with jobs but do not reserve (a, b, c, and 1 more), heard of 7s ago',
      advice: expect.stringMatching(/^if they have ended, start them; otherwise their logs say/),
    },
  ]);
  expect(await checkUnwatched([tube('a', { ...LATE, handling: [process(9)] })], around)).toMatchObject([
    {
      about: 'a',
      fact: 'about 10 jobs, 4 due, the oldest since 2026-11-29T00:15:00Z (2m ago); web:9 has a handler but does not reserve, heard of 9s ago',
    },
  ]);
});

it('a tube without a handler has a check of its own, while others run', async () => {
  expect(await checkUnwatched([tube('a', LATE), tube('b')], around)).toMatchObject([
    {
      about: 'a',
      fact: 'about 10 jobs, 4 due, the oldest since 2026-11-29T00:15:00Z (2m ago), but no consumer',
    },
    { about: 'b', fact: 'about 10 jobs, none due, but no consumer' },
  ]);
});
