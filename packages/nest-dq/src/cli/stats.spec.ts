import { expect, it } from '@jest/globals';
import type { TubeView } from '../operate/tube-view.js';
import { linesOf } from 'nest-handlers/cli';
import { tubesTable } from './stats.js';

const lines = (tubes: readonly TubeView[]) => linesOf([tubesTable(tubes)]);

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
  expect(lines([late, { ...view('b'), overdueFor: 0 }])).toEqual([
    'TUBE  WAITING  DUE  LATE    RUNNING  DEAD  CONSUMERS',
    'a           1    0  1m 30s        0     0  yes',
    'b           1    0                0     0  yes',
  ]);
});

it('has a consumer if a process announces one, though none watches while all its slots are busy', () => {
  const consumers = (more: Partial<TubeView>) => lines([{ ...view('a'), watching: 0, ...more }])[1];
  expect(consumers({ consumers: 2 })).toMatch(/yes$/);
  expect(consumers({ consumers: 0 })).toMatch(/NONE$/);
});

it('has a column of retried jobs if a tube has some', () => {
  const retried = { ...view('a'), retrying: 1_200 };
  expect(lines([retried, { ...view('b'), retrying: 0 }])).toEqual([
    'TUBE  WAITING  DUE  RUNNING  DEAD  CONSUMERS  RETRYING',
    'a           1    0        0     0  yes        1,200',
    'b           1    0        0     0  yes        0',
  ]);
});

it('has a column of limits if a tube has some', () => {
  expect(lines([view('a')])[0]).not.toContain('LIMITS');
  const all = { rate: 1_000, per: 1_000, burst: 1, concurrency: 5, perGroup: 1, running: 3 };
  expect(
    lines([
      view('a', all),
      view('b'),
      view('c', { rate: 5, per: 3_600_000, burst: 1, unequal: true }),
      view('d', { concurrency: 2 }),
    ]),
  ).toEqual([
    'TUBE  WAITING  DUE  RUNNING  DEAD  CONSUMERS  LIMITS',
    'a           1    0        0     0  yes        1,000 in 1s, 3 of 5 running, 1 per group',
    'b           1    0        0     0  yes',
    'c           1    0        0     0  yes        5 in 1h, UNEQUAL',
    'd           1    0        0     0  yes        ? of 2 running',
  ]);
});

it('knows no consumers while Redis is away, since nobody reserves then', () => {
  const away = { tube: 'a', nodes: 3, waiting: 5, due: 2, running: 0, watching: 0 };
  expect(lines([away, { ...away, tube: 'b', dead: 0, consumers: 0 }])).toEqual([
    'TUBE  WAITING  DUE  RUNNING  DEAD  CONSUMERS',
    'a           5    2        0  ?     ?',
    'b           5    2        0  0     NONE',
  ]);
});

it('keeps the lateness at 60 columns, whatever else there is', () => {
  const tube = {
    ...view(`tenant.${'x'.repeat(180)}`, { concurrency: 5, running: 3 }),
    retrying: 3,
    overdueFor: 90_000,
  };
  const shown = linesOf([tubesTable([tube])], { width: 60, paint: (_, text) => text });
  expect(shown[0]).toContain('LATE');
  expect(shown[1]).toMatch(/^tena.*…x+ .* 1m /);
  expect(shown.at(-1)).toBe('RETRYING, LIMITS left out');
  expect(Math.max(...shown.map(({ length }) => length))).toBeLessThanOrEqual(60);
});

it('shortens only the names that are too long', () => {
  const long = `backfill.${'customer.'.repeat(8)}nightly`;
  const tubes = [view(long, { concurrency: 5, running: 3 }), view('backfill.customer.daily')];
  const shown = linesOf([tubesTable(tubes)], { width: 80, wideFlag: '--wide', paint: (_, text) => text });
  expect(shown).toEqual([
    'TUBE                      WAITING  DUE  RUNNING  DEAD  CONSUMERS  LIMITS',
    'backfill.cus…mer.nightly        1    0        0     0  yes        3 of 5 running',
    'backfill.customer.daily         1    0        0     0  yes',
  ]);
});
