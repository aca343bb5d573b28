import { expect, it } from '@jest/globals';
import { linesOf } from 'nest-handlers/cli';
import type { NodeView } from '../operate/node-view.js';
import type { ProcessView } from '../operate/processes.js';
import { nodesDownLine, viewsOfNodes } from './nodes-down.js';

const NOW = Date.UTC(2026, 10, 29, 0, 16);
const up = (endpoint: string): NodeView => ({ endpoint, up: true, drained: false });
const down = (endpoint: string, since?: Date): NodeView => ({
  endpoint,
  up: false,
  drained: false,
  ...(since && { since }),
});
const lineOf = (...nodes: NodeView[]) => linesOf(nodesDownLine(nodes, 2, NOW));

it('one line names the nodes that are down, since when, and what follows', () => {
  expect(lineOf(up('a:1'), up('b:1'))).toEqual([]);
  expect(lineOf(up('a:1'), up('b:1'), down('c:1', new Date(NOW - 60_000)))).toEqual([
    '1 of 3 nodes down: c:1 since 2026-11-29T00:15:00Z (1m ago) → bring it back: its jobs run late, from other nodes',
  ]);
  expect(lineOf(up('a:1'), down('b:1'), down('c:1'))).toEqual([
    '2 of 3 nodes down: b:1, c:1 → bring them back: adds fail until 2 are up; jobs run late',
  ]);
  expect(lineOf(down('a:1'))).toEqual(['1 of 1 node down: a:1 → bring it back: nothing runs, and adds fail']);
  expect(lineOf(...['a', 'b', 'c', 'd', 'e'].map((name) => down(name)))[0]).toMatch(
    /^5 of 5 nodes down: a, b, c, and 2 more →/,
  );
});

it('since when is what processes say, and not when this command began to look', async () => {
  const [earlier, later] = [new Date(NOW - 60_000), new Date(NOW - 50_000)];
  const inspector = {
    nodes: async () => [down('a:1', new Date(NOW)), down('b:1', new Date(NOW)), up('c:1')],
  };
  const processes = [
    { awaySince: { 'a:1': later } },
    { awaySince: { 'a:1': earlier } },
    {},
  ] as unknown as ProcessView[];
  expect(await viewsOfNodes(inspector, Promise.resolve(processes))).toEqual([
    down('a:1', earlier),
    down('b:1'),
    up('c:1'),
  ]);
  expect(await viewsOfNodes(inspector, Promise.resolve(undefined))).toEqual([
    down('a:1'),
    down('b:1'),
    up('c:1'),
  ]);
});
