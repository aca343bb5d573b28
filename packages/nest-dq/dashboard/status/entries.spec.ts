import { describe, expect, it } from '@jest/globals';
import { entriesOf, type ClusterProblemWire, type TubeProblemWire } from './entries.js';

const redis: ClusterProblemWire = { code: 'ledger-down', level: 'failure', cause: 'refused' };
const node: ClusterProblemWire = {
  code: 'node-down',
  level: 'warning',
  node: 'a:1',
  cause: 'silent',
  up: 2,
  total: 3,
};

function tube(name: string, more: Partial<TubeProblemWire> = {}): TubeProblemWire {
  return { code: 'no-consumer', level: 'warning', tube: name, jobs: 1, due: 0, ...more };
}

describe('the entries of the status bar', () => {
  it('are none while all is well, and before anything is known', () => {
    expect(entriesOf({ cluster: [], tubes: [] }, undefined)).toEqual([]);
    expect(entriesOf(undefined, undefined)).toEqual([]);
  });

  it('begin with the worst: the lost connection, then failures of the cluster and of tubes, then warnings', () => {
    const tubes = [tube('late', { level: 'failure' }), tube('soon')];
    const found = entriesOf({ cluster: [redis, node], tubes }, 7);
    expect(found.map((each) => [each.kind, each.level])).toEqual([
      ['connection', 'failure'],
      ['cluster', 'failure'],
      ['tubes', 'failure'],
      ['cluster', 'warning'],
      ['tubes', 'warning'],
    ]);
    expect(found[0]).toMatchObject({ since: 7 });
  });

  it('join tubes with the same cause, and leave out those that wait only because Redis is down', () => {
    const tubes = [
      tube('a'),
      tube('b'),
      tube('c', { code: 'paused', level: 'note' }),
      tube('d', { code: 'ledger-down', level: 'note' }),
    ];
    const found = entriesOf({ cluster: [], tubes }, undefined);
    const names = found.map((each) => each.kind === 'tubes' && each.tubes.map((of) => of.tube));
    expect(names).toEqual([['a', 'b'], ['c']]);
  });

  it('have no causes from before while Redis is down, but until these are confirmed', () => {
    const tubes = [tube('a', { asOf: '2030-01-01T00:00:00.000Z' })];
    expect(entriesOf({ cluster: [redis], tubes }, undefined).map(({ kind }) => kind)).toEqual(['cluster']);
    expect(entriesOf({ cluster: [], tubes }, undefined).map(({ kind }) => kind)).toEqual(['tubes']);
  });
});
