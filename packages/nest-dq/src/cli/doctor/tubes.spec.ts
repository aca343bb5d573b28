import { expect, it } from '@jest/globals';
import type { Ledger } from '../../ledger/ledger.js';
import type { NodeFacts } from './nodes.js';
import type { ProcessRecord } from '../../fleet/presence.js';
import { checkTubes } from './tubes.js';

const node = (i: number): NodeFacts => ({
  endpoint: `10.0.0.${i}:11300`,
  took: 1,
  stats: {},
  later: {},
  tubes: new Map([['legacy.import', { 'current-jobs-ready': '900', 'current-jobs-delayed': '1500' }]]),
  otherTubes: [],
  more: false,
  ledgers: [],
});

it('a tube without a consumer has its jobs counted, not their copies', async () => {
  const ledger = { tube: () => ({ paused: async () => undefined }) } as unknown as Ledger;
  const around = {
    now: 0,
    processes: [{ id: 'a', settings: { replicas: 3 }, tubes: [] } as unknown as ProcessRecord],
    ledger,
    replicas: 3,
    viewOf: () => undefined,
    heardAt: () => 0,
    lastRun: async () => undefined,
  };
  expect(await checkTubes([node(1), node(2), node(3)], '', around)).toEqual([
    {
      level: 'warning',
      about: 'legacy.import',
      fact: 'about 2,400 jobs, 900 due, but no consumer',
      advice: 'start a process with a handler for this tube',
    },
  ]);
});

it('what may be copies of dead letters is not late', async () => {
  const ledger = { tube: () => ({ paused: async () => undefined }) } as unknown as Ledger;
  const view = { tube: 'legacy.import', nodes: 3, waiting: 5, due: 2, dead: 3, running: 0 };
  const around = { now: 0, processes: [], ledger, replicas: 3, viewOf: () => view, heardAt: () => 0 };
  expect(await checkTubes([node(1)], '', { ...around, lastRun: async () => undefined })).toMatchObject([
    { level: 'warning', fact: 'none of the application is running, and about 7 jobs in 1 tube, none due' },
  ]);
});

it('a tube whose slots are all busy is not one that nobody reserves from', async () => {
  const ledger = { tube: () => ({ paused: async () => undefined }) } as unknown as Ledger;
  const process = (running: number) =>
    ({
      id: 'a',
      settings: { replicas: 3 },
      tubes: [{ tube: 'legacy.import', running, concurrency: 2 }],
    }) as unknown as ProcessRecord;
  const checked = (running: number) =>
    checkTubes([node(1)], '', {
      now: 0,
      processes: [process(running)],
      ledger,
      replicas: 3,
      viewOf: () => undefined,
      heardAt: () => 0,
      lastRun: async () => undefined,
    });
  expect(await checked(2)).toMatchObject([{ level: 'ok', about: 'tubes' }]);
  expect(await checked(1)).toMatchObject([{ level: 'warning', about: 'legacy.import' }]);
});
