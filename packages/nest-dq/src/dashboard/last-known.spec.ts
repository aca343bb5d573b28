import { describe, expect, it } from '@jest/globals';
import { keepKnown } from './last-known.js';
import type { LiveWire, NodesWire, TubeWire } from './wire.js';

const FIRST = '2030-01-01T00:00:00.000Z';
const SECOND = '2030-01-01T00:00:02.000Z';
const THIRD = '2030-01-01T00:00:04.000Z';
const PAUSED = { since: FIRST };

function state(now: string, more: Partial<LiveWire> = {}): LiveWire {
  return {
    now,
    tubes: null,
    nodes: null,
    ledger: null,
    processes: null,
    health: null,
    acts: null,
    problems: { cluster: [], tubes: [] },
    ...more,
  };
}

function tubes(list: readonly TubeWire[], away: readonly string[] = []): LiveWire['tubes'] {
  return { tubes: list, more: false, away };
}

const MAIL: TubeWire = { tube: 'mail', nodes: 3, waiting: 5, due: 0, dead: 2, paused: PAUSED, consumers: 1 };
const NODE: NodesWire[number] = {
  endpoint: 'a:1',
  up: true,
  drained: false,
  version: '1.13',
  copies: { ready: 1, delayed: 2, reserved: 3, buried: 4 },
};

describe('what is known', () => {
  it('is the state itself while all of it can be read', () => {
    const whole = state(SECOND, { tubes: tubes([]), nodes: [NODE] });
    expect(keepKnown(keepKnown(undefined, state(FIRST)), whole)).toEqual({ ...whole, asOf: {} });
  });

  it('keeps the facts of the ledger about tubes, with their age, until it answers again', () => {
    const first = keepKnown(undefined, state(FIRST, { tubes: tubes([MAIL]) }));
    const bare = { tube: 'mail', nodes: 3, waiting: 4, due: 1 };
    const second = keepKnown(first, state(SECOND, { tubes: tubes([bare]) }));
    expect(second.tubes!.tubes).toEqual([{ ...MAIL, waiting: 4, due: 1 }]);
    const third = keepKnown(second, state(THIRD, { tubes: tubes([bare]) }));
    expect([second.asOf, third.asOf]).toEqual([{ facts: FIRST }, { facts: FIRST }]);
    const { paused: _paused, ...resumed } = MAIL;
    const back = keepKnown(third, state(THIRD, { tubes: tubes([resumed]) }));
    expect([back.tubes!.tubes, back.asOf]).toEqual([[resumed], {}]);
  });

  it('counts listed jobs as due that were, or have left the waiting ones, as nodes also count copies of jobs that are over', () => {
    const listed = { ...MAIL, due: 1, listed: 6, overdue: 1 };
    const first = keepKnown(undefined, state(FIRST, { tubes: tubes([listed]) }));
    const bare = { tube: 'mail', nodes: 3, waiting: 5, due: 6 };
    const second = keepKnown(first, state(SECOND, { tubes: tubes([bare]) }));
    expect(second.tubes!.tubes).toEqual([listed]);
    const later = { ...bare, waiting: 2, due: 9 };
    const third = keepKnown(second, state(THIRD, { tubes: tubes([later]) }));
    expect(third.tubes!.tubes).toEqual([{ ...listed, waiting: 2, due: 4, overdue: 4 }]);
  });

  it('keeps what runs, which nodes hand out again', () => {
    const first = keepKnown(undefined, state(FIRST, { tubes: tubes([{ ...MAIL, running: 4 }]) }));
    const bare = { tube: 'mail', nodes: 3, waiting: 5, due: 4, running: 0 };
    expect(keepKnown(first, state(SECOND, { tubes: tubes([bare]) })).tubes!.tubes[0]!.running).toBe(4);
  });

  it('keeps the counts of the nodes of a tube that they counted too slowly, with their age, and what the ledger says', () => {
    const counted = { ...MAIL, running: 1, watching: 3, copies: NODE.copies! };
    const first = keepKnown(undefined, state(FIRST, { tubes: tubes([counted]) }));
    const { paused: _paused, ...resumed } = MAIL;
    const slow = { tube: 'mail', nodes: 0, dead: 3, due: 4, consumers: 2 };
    const second = keepKnown(first, state(SECOND, { tubes: tubes([slow]) }));
    const third = keepKnown(second, state(THIRD, { tubes: tubes([slow]) }));
    const { nodes: _nodes, dead: _dead, due: _due, consumers: _consumers, paused: _, ...kept } = counted;
    expect(third.tubes!.tubes).toEqual([{ ...kept, ...slow }]);
    expect([second.asOf, third.asOf]).toEqual([{ tubes: { mail: FIRST } }, { tubes: { mail: FIRST } }]);
    expect(keepKnown(third, state(THIRD, { tubes: tubes([resumed]) })).asOf).toEqual({});
  });

  it('takes over what another process remembers, with its age, and keeps what that one does not know', () => {
    const bare = tubes([{ tube: 'mail', nodes: 3, waiting: 4, due: 1 }]);
    const whole = state(FIRST, { tubes: tubes([MAIL]) });
    const server = keepKnown(keepKnown(undefined, whole), state(SECOND, { tubes: bare }));
    const fresh = keepKnown(undefined, server);
    expect([fresh.tubes!.tubes[0]!.dead, fresh.asOf]).toEqual([2, { facts: FIRST }]);
    expect(keepKnown(fresh, { ...server, now: THIRD }).asOf).toEqual({ facts: FIRST });
    const restarted = keepKnown(fresh, state(THIRD, { tubes: bare }));
    expect([restarted.tubes!.tubes[0]!.dead, restarted.asOf]).toEqual([2, { facts: FIRST }]);
  });

  it('keeps tubes that only nodes have that are away', () => {
    const first = keepKnown(undefined, state(FIRST, { tubes: tubes([MAIL]) }));
    const away = keepKnown(first, state(SECOND, { tubes: tubes([], ['a:1']) }));
    expect([away.tubes!.tubes, away.asOf.tubes]).toEqual([[MAIL], { mail: FIRST }]);
    const gone = keepKnown(away, state(THIRD, { tubes: tubes([]) }));
    expect([gone.tubes!.tubes, gone.asOf]).toEqual([[], {}]);
  });

  it('keeps the figures of a node that is away, but not that it was up', () => {
    const first = keepKnown(undefined, state(FIRST, { nodes: [NODE] }));
    const down = { endpoint: 'a:1', up: false, reason: 'gone', drained: false };
    const second = keepKnown(first, state(SECOND, { nodes: [down] }));
    expect(second.nodes).toEqual([{ ...NODE, ...down }]);
    expect(second.asOf).toEqual({ nodes: { 'a:1': FIRST } });
    const third = keepKnown(second, state(THIRD, { nodes: [{ ...down, reason: 'still gone' }] }));
    expect(third.nodes).toEqual([{ ...NODE, ...down, reason: 'still gone' }]);
  });

  it('keeps processes, health, acts and the figures of Redis', () => {
    const server = { address: 'r:1', up: true, version: '7.2', roundTrip: 1 };
    const ledger = { kind: 'redis', up: true, servers: [server], problems: [] } as const;
    const parts = { ledger, processes: [], acts: { acts: [] }, health: null };
    const first = keepKnown(undefined, state(FIRST, parts));
    const servers = [{ address: 'r:1', up: false, reason: 'refused' }];
    const second = keepKnown(first, state(SECOND, { ledger: { ...ledger, up: false, servers } }));
    expect(second).toMatchObject({ processes: [], acts: { acts: [] } });
    expect(second.ledger!.servers).toEqual([{ ...servers[0], version: '7.2' }]);
    expect(second.asOf).toEqual({ ledger: FIRST, processes: FIRST });
  });
});
