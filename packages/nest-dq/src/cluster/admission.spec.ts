import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { VirtualClock } from 'nest-handlers/testing';
import { InProcessNode } from '../embedded/in-process-node.js';
import {
  Admission,
  announcedIn,
  announcementsOf,
  awaySinceIn,
  isAnnouncement,
  type OtherLedger,
} from './admission.js';
import { ClusterNode } from './cluster-node.js';
import { Cluster } from './cluster.js';

const LOW = '0'.repeat(16);
const HIGH = 'f'.repeat(16);

describe('Admission', () => {
  let clock: VirtualClock;
  let servers: InProcessNode[];
  let processes: Process[];

  /** The parts of a process that admission involves. */
  interface Process {
    readonly admission: Admission;
    readonly cluster: Cluster;
    readonly told: string[];
    /** The identity stored in the ledger. Undefined after it lost its data. */
    ledger: string | undefined;
    close(): void;
  }

  function open(
    ledger: string | undefined,
    { consume = true, prefix = '', on = [0, 1], isCut = (): boolean => false } = {},
  ): Process {
    const dial = (server: InProcessNode) => (isCut() ? server.dial().destroy() : server.dial());
    const nodes = on.map((i) => new ClusterNode(`n${i}:1`, () => dial(servers[i]!), clock));
    const cluster = new Cluster(nodes, { replicas: 1, minWritten: 1 });
    const told: string[] = [];
    const identify = async (known: string) => (process.ledger ??= known);
    const isUnknown = async () => process.ledger === undefined;
    const admission = new Admission({ cluster, clock, prefix, consume, identify, isUnknown });
    const tell = (what: string) => (other: OtherLedger) =>
      void told.push(`${what} ${other.id[0]} at ${other.node}`);
    admission.listen({
      admitted: () => void told.push('admitted'),
      refused: tell('refused'),
      shared: tell('shared'),
      unidentified: ({ message }) => void told.push(message),
    });
    const close = () => {
      admission.close();
      cluster.close();
    };
    const process: Process = { admission, cluster, told, ledger, close };
    processes.push(process);
    cluster.start();
    void admission.start();
    return process;
  }

  beforeEach(() => {
    clock = new VirtualClock();
    servers = [new InProcessNode(clock), new InProcessNode(clock)];
    processes = [];
  });

  afterEach(() => {
    for (const process of processes) process.close();
    for (const server of servers) server.close();
  });

  async function shown(): Promise<string[]> {
    return announcedIn(await tubesThere(), '');
  }

  async function tubesThere(): Promise<string[]> {
    const watcher = new ClusterNode('watcher:1', () => servers[0]!.dial(), clock);
    watcher.start();
    await clock.advance(0);
    const asked = watcher.ask<string[]>((connection, done) => connection.listTubes(done));
    await clock.advance(0);
    watcher.close();
    return (await asked)!;
  }

  it('admits a process that finds no other ledger, and its nodes show its ledger until it ends', async () => {
    const one = open(LOW);
    await clock.advance(10);
    expect(one.told).toEqual(['admitted']);
    expect(await shown()).toEqual([LOW]);
    one.close();
    await clock.advance(10);
    expect(await shown()).toEqual([]);
  });

  it('refuses a newcomer with another ledger, which announces nothing, and admits one with the same ledger', async () => {
    open(HIGH);
    await clock.advance(10);
    const [newcomer, colleague] = [open(LOW), open(HIGH)];
    await clock.advance(10);
    expect([newcomer.told, newcomer.admission.admitted]).toEqual([['refused f at n0:1'], false]);
    expect(newcomer.admission.other).toEqual({ id: HIGH, node: 'n0:1', ours: LOW });
    expect(colleague.told).toEqual(['admitted']);
    expect(await shown()).toEqual([HIGH]);
  });

  it('sees another ledger on any node that both have', async () => {
    open(HIGH, { on: [1] });
    await clock.advance(10);
    const newcomer = open(LOW);
    await clock.advance(10);
    expect(newcomer.told).toEqual(['refused f at n1:1']);
  });

  it('admits one of two that start at the same time', async () => {
    const [low, high] = [open(LOW), open(HIGH)];
    await clock.advance(2_000);
    expect([low.admission.admitted, high.admission.admitted]).toEqual([true, false]);
    expect(high.told).toEqual(['refused 0 at n0:1']);
    expect(await shown()).toEqual([LOW]);
  });

  it('does not admit the lower of two where the other was admitted between its look and its announcement', async () => {
    const low = open(LOW, { on: [0] });
    const [node] = low.cluster.nodes as [ClusterNode];
    const ask = node.ask.bind(node);
    let calls = 0;
    // The first call lists the tubes, and the second one watches.
    node.ask = async (start) => {
      if (++calls === 2) await new Promise<void>((resolve) => void clock.after(100, resolve));
      return ask(start) as never;
    };
    await clock.advance(10);
    const high = open(HIGH);
    await clock.advance(50);
    expect([calls, high.told]).toEqual([2, ['admitted']]);
    await clock.advance(5_000);
    expect(low.admission.admitted).toBe(false);
    expect(await shown()).toEqual([HIGH]);
  });

  it('admits a newcomer when no process has the other ledger any more, and not while one only connects again', async () => {
    const old = open(HIGH);
    await clock.advance(10);
    const newcomer = open(LOW);
    await clock.advance(4_000);
    old.close();
    await clock.advance(2_000);
    const again = open(HIGH);
    await clock.advance(30_000);
    expect([again.admission.admitted, newcomer.admission.admitted]).toEqual([true, false]);
    again.close();
    await clock.advance(10_100);
    expect(newcomer.told.at(-1)).toBe('admitted');
    expect(newcomer.admission.other).toBeUndefined();
  });

  it('gives a ledger that lost its data its identity back, and admits whoever comes then', async () => {
    const one = open(LOW);
    await clock.advance(10);
    one.ledger = undefined;
    await clock.advance(5_000);
    expect(one.ledger).toBe(LOW);
    expect(one.told).toEqual(['admitted']);
  });

  it('treats a ledger whose identity has changed as another one, and announces that', async () => {
    const [one, other] = [open(LOW), open(LOW)];
    await clock.advance(10);
    one.ledger = HIGH;
    await clock.advance(5_000);
    expect(one.told).toEqual(['admitted', 'refused 0 at n0:1']);
    other.ledger = HIGH;
    await clock.advance(20_000);
    expect([one.admission.admitted, other.admission.admitted]).toEqual([true, true]);
    expect(await shown()).toEqual([HIGH]);
  });

  it('stays where it was admitted before the other ledger was seen, and warns on each look', async () => {
    const [one] = [open(LOW, { on: [0] }), open(HIGH, { on: [1] })];
    await clock.advance(10);
    const [node] = one.cluster.nodes as [ClusterNode];
    node.ask = async () => ['default', announcementsOf('') + HIGH] as never;
    await clock.advance(95_000);
    expect(one.told).toEqual(['admitted', 'shared f at n0:1']);
    expect(one.admission.admitted).toBe(true);
  });

  it('refuses a process that only produces at any time, since it has nothing in flight, and that one refuses nobody', async () => {
    const producer = open(LOW, { consume: false });
    await clock.advance(10);
    expect(producer.told).toEqual(['admitted']);
    expect(await shown()).toEqual([]);
    const consumer = open(HIGH);
    await clock.advance(95_000);
    expect(consumer.told).toEqual(['admitted']);
    expect(producer.told[1]).toBe('refused f at n0:1');
  });

  it('knows applications by their prefixes, of any length', async () => {
    const prefixes = ['a.', 'b.', 'x'.repeat(199)];
    const all = [LOW, HIGH, 'a'.repeat(16)].map((id, i) => open(id, { prefix: prefixes[i]! }));
    await clock.advance(10);
    expect(all.map(({ told }) => told)).toEqual([['admitted'], ['admitted'], ['admitted']]);
  });

  it('announces to a node that was restarted although its ledger does not answer, so that nobody else is admitted', async () => {
    const one = open(LOW);
    await clock.advance(10);
    const other = open(HIGH);
    await clock.advance(10);
    Object.defineProperty(one, 'ledger', {
      get() {
        throw new Error('Redis is away');
      },
    });
    for (const i of [0, 1]) {
      servers[i]!.close();
      servers[i] = new InProcessNode(clock);
    }
    await clock.advance(200_000);
    expect(other.admission.admitted).toBe(false);
    expect(await shown()).toEqual([LOW]);
  });

  it('does not admit a newcomer that reaches restarted nodes before the others do', async () => {
    let cut = false;
    const one = open(LOW, { isCut: () => cut });
    await clock.advance(10);
    const other = open(HIGH);
    await clock.advance(10);
    cut = true;
    for (const server of servers) server.close();
    // One comes back after the other, so that the newcomer looks twice.
    for (const i of [0, 1]) {
      servers[i] = new InProcessNode(clock);
      await clock.advance(2_200);
    }
    expect(other.admission.admitted).toBe(false);
    cut = false;
    await clock.advance(2_000);
    expect([one.admission.admitted, other.admission.admitted]).toEqual([true, false]);
  });

  it('does not count the time in which a newcomer reached no node', async () => {
    let cut = false;
    const one = open(LOW, { isCut: () => cut, on: [0] });
    await clock.advance(10);
    const other = open(HIGH, { on: [0] });
    await clock.advance(10);
    cut = true;
    const restart = () => {
      servers[0]!.close();
      servers[0] = new InProcessNode(clock);
    };
    restart();
    await clock.advance(1_000); // the newcomer finds the node empty
    servers[0]!.close();
    await clock.advance(10_000);
    restart();
    await clock.advance(2_500);
    expect(other.admission.admitted).toBe(false);
    cut = false;
    await clock.advance(4_000);
    expect([one.admission.admitted, other.admission.admitted]).toEqual([true, false]);
  });

  it('leaves it to the others to store the identity that their ledger has lost', async () => {
    const one = open(LOW);
    await clock.advance(4_000);
    const newcomer = open(undefined);
    await clock.advance(500);
    expect([newcomer.ledger, newcomer.admission.admitted]).toEqual([undefined, false]);
    newcomer.ledger = LOW; // stored by the other one
    await clock.advance(1_000);
    expect([one.told, newcomer.told]).toEqual([['admitted'], ['admitted']]);
  });

  it('stores an identity of its own where nobody does, and is refused', async () => {
    open(LOW);
    await clock.advance(10);
    const newcomer = open(undefined);
    await clock.advance(8_000);
    expect(newcomer.ledger).toMatch(/^[0-9a-f]{16}$/);
    expect(newcomer.told).toEqual(['refused 0 at n0:1']);
  });

  it('announces again where a connection was lost', async () => {
    const one = open(LOW);
    await clock.advance(10);
    servers[0]!.close();
    servers[0] = new InProcessNode(clock);
    expect(await shown()).toEqual([]);
    await clock.advance(3_000);
    expect(await shown()).toEqual([LOW]);
    expect(one.told).toEqual(['admitted']);
  });

  it('shows since when its ledger is away, also on a node that is restarted meanwhile, until it answers', async () => {
    const [one, other] = [open(LOW), open(LOW)];
    await clock.advance(10);
    expect(awaySinceIn(await tubesThere(), '')).toBeUndefined();
    const since = clock.wall();
    one.admission.ledgerAway(since + 2_000);
    other.admission.ledgerAway(since);
    await clock.advance(10);
    const shownSince = new Date(Math.floor(since / 1_000) * 1_000);
    expect(awaySinceIn(await tubesThere(), '')).toEqual(shownSince);
    expect(awaySinceIn(await tubesThere(), 'other.')).toBeUndefined();
    expect(await shown()).toEqual([LOW]);
    servers[0]!.close();
    servers[0] = new InProcessNode(clock);
    await clock.advance(3_000);
    expect(awaySinceIn(await tubesThere(), '')).toEqual(shownSince);
    for (const { admission } of [one, other]) admission.ledgerAway(undefined);
    await clock.advance(10);
    expect(await tubesThere()).toEqual(['default', announcementsOf('') + LOW]);
  });

  it('says nothing of an outage if it was never admitted, since it only began with the process', async () => {
    const one = open(LOW);
    Object.defineProperty(one, 'ledger', {
      get() {
        throw new Error('Redis is away');
      },
    });
    one.admission.ledgerAway(clock.wall());
    await clock.advance(10_000);
    expect(awaySinceIn(await tubesThere(), '')).toBeUndefined();
  });

  it('waits for the ledger, and says why its identity is unknown', async () => {
    const one = open(LOW);
    one.admission.close();
    const { cluster } = one;
    const told: string[] = [];
    const answers = [new Error('WRONGTYPE'), LOW];
    const identify = async () => {
      const answer = answers.shift()!;
      if (typeof answer !== 'string') throw answer;
      return answer;
    };
    const isUnknown = async () => false;
    const admission = new Admission({ cluster, clock, prefix: '', consume: true, identify, isUnknown });
    admission.listen({
      unidentified: ({ message }) => void told.push(message),
      admitted: () => void told.push('admitted'),
    });
    void admission.start();
    await clock.advance(10);
    expect([told, admission.admitted]).toEqual([['WRONGTYPE'], false]);
    admission.lookNow();
    await clock.advance(10);
    expect(told).toEqual(['WRONGTYPE', 'admitted']);
    admission.close();
  });
});

describe('isAnnouncement', () => {
  it('knows the tubes of all prefixes, and no others', () => {
    expect(isAnnouncement(announcementsOf('') + LOW)).toBe(true);
    expect(isAnnouncement(announcementsOf('a.') + HIGH)).toBe(true);
    expect(isAnnouncement(`dq-away.${LOW}.1795910930`)).toBe(true);
    for (const tube of [
      'dq-ledger',
      'dq-ledger.x',
      `dq-away.${LOW}.x`,
      `a.${announcementsOf('')}${LOW}`,
      announcementsOf(''),
    ])
      expect(isAnnouncement(tube)).toBe(false);
  });
});
