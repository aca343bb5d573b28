import { describe, expect, it } from '@jest/globals';
import type { LedgerView } from '../ledger/ledger-view.js';
import type { NodeView } from '../operate/node-view.js';
import type { ProcessView } from '../operate/processes.js';
import type { TubeView } from '../operate/tube-view.js';
import { linesOf } from 'nest-handlers/cli';
import { choose, frameOf, type TopChoice } from './top.js';

const AT = new Date('2026-12-24T18:00:00Z');
const ledger: LedgerView = {
  kind: 'redis',
  up: true,
  servers: [{ address: 'r:6379', up: true, roundTrip: 1.2 }],
  problems: [],
};
const copies = { ready: 1, delayed: 20_000, reserved: 3, buried: 0 };

function node(i: number, more: Partial<NodeView> = {}): NodeView {
  return { endpoint: `10.0.0.${i}:11300`, up: true, drained: false, copies, connections: 12, ...more };
}

function tube(name: string, more: Partial<TubeView> = {}): TubeView {
  return { tube: name, nodes: 3, waiting: 0, due: 0, running: 0, dead: 0, watching: 3, ...more };
}

function frame(nodes: readonly NodeView[], tubes: readonly TubeView[]): string[] {
  return linesOf(frameOf({ nodes, ledger, minWritten: 1, tubes: { tubes, more: false, away: [] } }, 24, AT));
}

describe('a frame of top', () => {
  it('shows due jobs first, then running ones, then waiting ones', () => {
    const tubes = [
      tube('a', { waiting: 500_000 }),
      tube('b', { running: 2 }),
      tube('c', { due: 1, watching: 0, consumers: 0 }),
    ];
    expect(frame([node(1, { drained: true }), node(2, { up: false, reason: 'it is away' })], tubes)).toEqual([
      '18:00:00Z  1 of 2 nodes up  Redis answers in 2ms  (q quits)',
      '1 of 2 nodes down: 10.0.0.2:11300 → bring it back: its jobs run late, from other nodes',
      '',
      'NODE            READY  DELAYED  RESERVED  BURIED  CONN  STATE',
      '10.0.0.1:11300      1   20,000         3       0    12  up, drained',
      '10.0.0.2:11300      1   20,000         3       0    12  DOWN: it is away',
      '',
      'TUBE  WAITING  DUE  RUNNING  DEAD  CONSUMERS',
      'c           0    1        0     0  NONE',
      'b           0    0        2     0  yes',
      'a     500,000    0        0     0  yes',
    ]);
  });

  it('fits a screen of 24 rows, however many nodes and tubes there are, and counts the others', () => {
    const nodes = Array.from({ length: 9 }, (_, i) => node(i));
    const tubes = Array.from({ length: 100 }, (_, i) => tube(`order.cancel.${i}`));
    const lines = frame(nodes, tubes);
    expect(lines).toHaveLength(24);
    expect(lines).toContain('… and 3 nodes more');
    expect(lines.at(-1)).toBe('… and 89 tubes');
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(80);
  });

  it('shows the number of processes, and that jobs are lost', () => {
    const processes = [{ lost: 2 }, { lost: 3 }, {}] as unknown as ProcessView[];
    const tubes = { tubes: [tube('a')], more: false, away: [] };
    const [head, loss, rest] = linesOf(
      frameOf({ nodes: [node(1)], ledger, minWritten: 1, tubes, processes }, 24, AT),
    );
    expect(head).toBe('18:00:00Z  1 of 1 node up  Redis answers in 2ms  3 processes  (q quits)');
    expect([loss, rest]).toEqual(['at least 3 jobs lost: see `nest-dq doctor`', '']);
  });

  it('says why Redis is away, and shows what is unknown as such', () => {
    const away = { ...ledger, up: false, reason: 'ECONNREFUSED' };
    const unknown = { tube: 'a', nodes: 0 };
    const list = { tubes: [unknown], more: false, away: [] };
    const lines = linesOf(frameOf({ nodes: [node(1)], ledger: away, minWritten: 1, tubes: list }, 24, AT));
    expect(lines[1]).toMatch(/^Redis unusable: ECONNREFUSED → start it, /);
    expect(lines.at(-1)).toBe('a     ?        ?    ?        ?     ?');
  });

  it('says that no process is there', () => {
    const tubes = { tubes: [tube('a')], more: false, away: [] };
    const view = { nodes: [node(1)], ledger, minWritten: 1, tubes, processes: [] };
    expect(linesOf(frameOf(view, 24, AT))[0]).toMatch(/Redis answers in 2ms {2}no process {2}\(q quits\)$/);
  });

  it('has the order and the mark that were chosen, and the context', () => {
    const tubes = [tube('a', { waiting: 5 }), tube('b', { overdueFor: 60_000 }), tube('c', { dead: 2 })];
    const choice: TopChoice = { order: 'urgent', context: 'prod' };
    const view = { nodes: [node(1)], ledger, minWritten: 1, tubes: { tubes, more: false, away: [] } };
    const shown = () => linesOf(frameOf(view, 24, AT, choice));
    const names = () =>
      shown().flatMap((line) => /^(▸ | {2})([abc]) /.exec(line)?.slice(1, 3).join('') ?? []);
    expect(shown()[0]).toMatch(/^prod {2}18:00:00Z {2}1 of 1 node up/);
    choose(choice, 'j', tubes);
    expect(names()).toEqual(['▸ a', '  b', '  c']);
    choose(choice, 'l', tubes);
    expect([shown()[0], names()]).toEqual([expect.stringContaining('  by late  '), ['  b', '▸ a', '  c']]);
    choose(choice, 'down', tubes);
    choose(choice, 'down', tubes);
    choose(choice, 'd', tubes);
    expect(names()).toEqual(['▸ c', '  a', '  b']);
    choose(choice, 'enter', tubes);
    expect(choice).toMatchObject({ tube: 'c', isOpen: true });
    choose(choice, 'back', tubes);
    expect(choice).toMatchObject({ tube: 'c', isOpen: false });
    choose(choice, 'back', tubes);
    expect(choice.tube).toBeUndefined();
  });

  it('scrolls to the marked tube', () => {
    const tubes = Array.from({ length: 100 }, (_, i) => tube(`t${String(i).padStart(2, '0')}`));
    const view = { nodes: [node(1)], ledger, minWritten: 1, tubes: { tubes, more: false, away: [] } };
    const lines = linesOf(frameOf(view, 24, AT, { order: 'name', tube: 't99' }));
    expect(lines).toHaveLength(24);
    expect(lines.at(-2)).toMatch(/^▸ t99 /);
  });
});
