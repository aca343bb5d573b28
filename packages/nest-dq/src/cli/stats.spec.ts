import { expect, it } from '@jest/globals';
import type { TubeView } from '../operate/tube-view.js';
import { tubesTable } from './stats.js';

const view = (tube: string, limits?: TubeView['limits']): TubeView => ({
  tube,
  nodes: 3,
  waiting: 1,
  due: 0,
  running: 0,
  dead: 0,
  watching: 2,
  ...(limits && { limits }),
});

it('has a column of late jobs if a tube has some', () => {
  const late = { ...view('a'), overdueFor: 90_000 };
  expect(tubesTable([late, { ...view('b'), overdueFor: 0 }]).split('\n')).toEqual([
    'TUBE  WAITING  DUE  RUNNING  DEAD  CONSUMERS  LATE',
    'a           1    0        0     0  yes        1 min 30 s',
    'b           1    0        0     0  yes',
  ]);
});

it('has a column of retried jobs if a tube has some', () => {
  const retried = { ...view('a'), retrying: 1_200 };
  expect(tubesTable([retried, { ...view('b'), retrying: 0 }]).split('\n')).toEqual([
    'TUBE  WAITING  DUE  RUNNING  DEAD  CONSUMERS  RETRYING',
    'a           1    0        0     0  yes        1,200',
    'b           1    0        0     0  yes        0',
  ]);
});

it('has a column of limits if a tube has some', () => {
  expect(tubesTable([view('a')])).not.toContain('LIMITS');
  const all = { rate: 1_000, per: 1_000, burst: 1, concurrency: 5, perGroup: 1, running: 3 };
  expect(
    tubesTable([
      view('a', all),
      view('b'),
      view('c', { rate: 5, per: 3_600_000, burst: 1, unequal: true }),
      view('d', { concurrency: 2 }),
    ]).split('\n'),
  ).toEqual([
    'TUBE  WAITING  DUE  RUNNING  DEAD  CONSUMERS  LIMITS',
    'a           1    0        0     0  yes        1,000 in 1 s, 3 of 5 running, 1 per group',
    'b           1    0        0     0  yes',
    'c           1    0        0     0  yes        5 in 1 h, UNEQUAL',
    'd           1    0        0     0  yes        ? of 2 running',
  ]);
});
