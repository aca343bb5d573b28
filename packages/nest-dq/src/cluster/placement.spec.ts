import { describe, expect, it } from '@jest/globals';
import type { ClusterNode } from './cluster-node.js';
import { place } from './cluster.js';

/** Nodes by name: capital letters are healthy, X and Y drained. */
const nodes = (names: string): ClusterNode[] =>
  names.split('').map((name) => {
    const drained = 'XYxy'.includes(name);
    return { endpoint: name, writable: name !== name.toLowerCase(), drained } as ClusterNode;
  });
const names = (placed: readonly ClusterNode[]): string => placed.map(({ endpoint }) => endpoint).join('');

function primaries(all: string, turns: number): Record<string, number> {
  const counts: Record<string, number> = {};
  for (let turn = 0; turn < turns; turn++) {
    const first = names(place(nodes(all), turn, 3, 2).nodes)[0]!;
    counts[first] = (counts[first] ?? 0) + 1;
  }
  return counts;
}

describe('place', () => {
  it('takes each node in turn for the primary', () => {
    expect([0, 1, 2, 3].map((turn) => names(place(nodes('ABC'), turn, 3, 2).nodes))).toEqual([
      'ABC',
      'BCA',
      'CAB',
      'ABC',
    ]);
  });

  it('spreads primaries evenly over those that are healthy', () => {
    expect(primaries('ABC', 300)).toEqual({ A: 100, B: 100, C: 100 });
    expect(primaries('aBC', 300)).toEqual({ B: 150, C: 150 });
    expect(primaries('AbcDE', 300)).toEqual({ A: 100, D: 100, E: 100 });
  });

  it('puts nodes that are down last', () => {
    const { nodes: placed, healthy, copies } = place(nodes('aBcDE'), 1, 3, 2);
    expect([names(placed), healthy, copies]).toEqual(['DEBca', 3, 3]);
  });

  it('plans no copy for a node that is down while the healthy ones can make minWritten', () => {
    expect(place(nodes('aBC'), 0, 3, 2)).toMatchObject({ copies: 2, healthy: 2 });
    expect(place(nodes('aBCD'), 0, 2, 2)).toMatchObject({ copies: 2, healthy: 3 });
  });

  it('counts on the others when the healthy ones are too few', () => {
    expect(place(nodes('abC'), 0, 3, 2)).toMatchObject({ copies: 3, healthy: 1 });
    expect(place(nodes('abc'), 0, 3, 2)).toMatchObject({ copies: 3, healthy: 0 });
    expect(names(place(nodes('abc'), 1, 3, 2).nodes)).toBe('bca');
    expect(place(nodes('a'), 5, 1, 1)).toMatchObject({ copies: 1, healthy: 0 });
  });

  it('plans no copy for a drained node while the others can make minWritten', () => {
    expect(place(nodes('XBC'), 0, 3, 2)).toMatchObject({ copies: 2, healthy: 2 });
    expect(primaries('XBC', 300)).toEqual({ B: 150, C: 150 });
    const { nodes: placed, copies } = place(nodes('XBCD'), 2, 3, 2);
    expect([names(placed), copies]).toEqual(['DBCX', 3]);
  });

  it('takes as many drained nodes as minWritten needs, and before those that are down', () => {
    const { nodes: placed, copies, healthy } = place(nodes('aXYD'), 0, 3, 2);
    expect([names(placed), copies, healthy]).toEqual(['DXYa', 2, 1]);
    expect(place(nodes('XY'), 0, 2, 1)).toMatchObject({ copies: 1, healthy: 0 });
  });

  it('counts on all of them when drained nodes are too few as well, whether these are down or not', () => {
    const { nodes: placed, copies, healthy } = place(nodes('abX'), 0, 3, 2);
    expect([names(placed), copies, healthy]).toEqual(['Xab', 3, 0]);
    expect(place(nodes('xbC'), 0, 3, 2)).toMatchObject({ copies: 3, healthy: 1 });
  });
});
