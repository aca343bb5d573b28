import { expect, it } from '@jest/globals';
import type { Ledger } from '../../ledger/ledger.js';
import type { NodeFacts } from './nodes.js';
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
  const around = { now: 0, processes: [], ledger, replicas: 3 };
  expect(await checkTubes([node(1), node(2), node(3)], '', around)).toEqual([
    {
      level: 'warning',
      about: 'legacy.import',
      fact: 'about 2,400 jobs, 900 due, but no consumer',
      advice: 'start a process with a handler for this tube',
    },
  ]);
});
