import { describe, expect, it } from '@jest/globals';
import { ScriptedNode } from '../../spec-support/scripted-node.js';
import { VirtualClock } from 'nest-handlers/testing';
import { Cluster } from './cluster.js';
import { ClusterNode, type DeleteResult } from './cluster-node.js';
import { longestLocation, type Place } from '../copies/location.js';
import { setup, where } from '../../spec-support/cluster-setup.js';

describe('Cluster: put', () => {
  it('stores the backups first, then the primary, which names them', async () => {
    const { servers, put, puts, beginWith } = await setup(3);
    beginWith(0);
    const order: number[] = [];
    for (const server of servers) {
      const { put: usual } = server.answers;
      server.answers['put'] = (arrived) => {
        order.push((JSON.parse(arrived.body.toString()) as Place).index);
        return usual!(arrived);
      };
    }
    const result = await put();
    expect(where(result.stored)).toEqual([
      '0 at n0:1#instance0:1',
      '1 at n1:1#instance1:1',
      '2 at n2:1#instance2:1',
    ]);
    expect(result).toMatchObject({ planned: 3, doubtful: [], reasons: {} });
    expect(order).toEqual([1, 2, 0]);
    expect(puts().find(({ index }) => index === 0)!.siblings).toEqual([
      '1 at n1:1#instance1:1',
      '2 at n2:1#instance2:1',
    ]);
    expect(puts().filter(({ index, siblings }) => index > 0 && siblings.length > 0)).toEqual([]);
    expect(puts().map(({ line }) => line.replace(/ \d+$/, ''))).toEqual([
      'put 102 12 60',
      'put 101 11 60',
      'put 100 10 60',
    ]);
  });

  it('spreads primaries and backups over all nodes', async () => {
    const { put, puts } = await setup(5);
    for (let i = 0; i < 25; i++) await put();
    const of = (primary: boolean, node: number) =>
      puts().filter((each) => each.node === node && (each.index === 0) === primary).length;
    expect([0, 1, 2, 3, 4].map((node) => of(true, node))).toEqual([5, 5, 5, 5, 5]);
    expect([0, 1, 2, 3, 4].map((node) => of(false, node))).toEqual([10, 10, 10, 10, 10]);
  });

  it('replaces a backup that fails by the next healthy node, and names the one that is doubtful too', async () => {
    const { servers, put, puts, beginWith } = await setup(5);
    beginWith(0);
    servers[1]!.answers['put'] = () => 'DRAINING';
    servers[2]!.answers['put'] = () => undefined;
    const { stored, doubtful, reasons } = await put();
    expect(stored).toHaveLength(3);
    expect(where(doubtful)).toEqual(['2 at n2:1#instance2:?']);
    expect(Object.keys(reasons).sort()).toEqual(['n1:1', 'n2:1']);
    expect(puts().find(({ index }) => index === 0)!.siblings).toEqual(
      ['1 at n3:1#instance3:1', '2 at n4:1#instance4:1', '2 at n2:1#instance2:?'].sort(),
    );
  });

  it('replaces a primary that was refused', async () => {
    const { servers, put, beginWith } = await setup(4);
    beginWith(0);
    servers[0]!.answers['put'] = () => 'OUT_OF_MEMORY';
    const { stored, doubtful } = await put();
    expect(where(stored)).toContain('0 at n3:1#instance3:1');
    expect([stored.length, doubtful.length]).toEqual([3, 0]);
  });

  it('does not put a primary again that got no answer', async () => {
    const { servers, put, puts, beginWith } = await setup(5);
    beginWith(0);
    servers[0]!.answers['put'] = () => undefined;
    const { stored, doubtful, planned } = await put();
    expect(where(stored)).toEqual(['1 at n1:1#instance1:1', '2 at n2:1#instance2:1']);
    expect(where(doubtful)).toEqual(['0 at n0:1#instance0:?']);
    expect(planned).toBe(3);
    expect(puts().filter(({ index }) => index === 0)).toHaveLength(1);
  });

  it('leaves a node alone that is down, while the healthy ones make minWritten', async () => {
    const { clock, servers, nodes, put } = await setup(3);
    servers[1]!.refusing = true;
    servers[1]!.cut();
    await clock.advance(0);
    expect(nodes[1]!.up).toBe(false);
    for (let i = 0; i < 6; i++) {
      const result = await put();
      expect(result).toMatchObject({ planned: 2, reasons: {} });
      expect(result.stored).toHaveLength(2);
    }
    expect(servers[1]!.words).toEqual([]);
  });

  it('tries a node that refused lately when there are too few healthy ones', async () => {
    const { servers, put, nodes } = await setup(3);
    for (const i of [1, 2]) servers[i]!.answers['put'] = () => 'DRAINING';
    await put();
    expect(nodes.map(({ writable }) => writable)).toEqual([true, false, false]);
    servers[2]!.answers['put'] = () => 'INSERTED 9';
    const { stored, reasons } = await put();
    expect(stored).toHaveLength(2);
    expect(Object.keys(reasons)).toEqual(['n1:1']);
  });

  it('tries a node that refused lately in place of one that fails, when there would be too few copies otherwise', async () => {
    const { servers, nodes, put, beginWith } = await setup(3);
    beginWith(0);
    servers[2]!.answers['put'] = () => 'DRAINING';
    await put();
    expect(nodes.map(({ writable }) => writable)).toEqual([true, true, false]);
    beginWith(0);
    servers[2]!.answers['put'] = () => 'INSERTED 9';
    servers[1]!.answers['put'] = () => 'DRAINING';
    const { planned, stored } = await put();
    expect(planned).toBe(2);
    expect(where(stored)).toEqual(['0 at n0:1#instance0:2', '1 at n2:1#instance2:9']);
  });

  it('tries no node that is down in place of one that failed, when enough copies are left', async () => {
    const { clock, servers, put, beginWith } = await setup(4);
    servers[3]!.refusing = true;
    servers[3]!.cut();
    await clock.advance(0);
    beginWith(0);
    servers[1]!.answers['put'] = () => 'DRAINING';
    const { stored, reasons } = await put();
    expect(stored).toHaveLength(2);
    expect(Object.keys(reasons)).toEqual(['n1:1']);
  });

  it('puts no primary when it would be useless', async () => {
    const { servers, put, puts, beginWith } = await setup(3);
    beginWith(0);
    servers[1]!.answers['put'] = () => 'DRAINING';
    servers[2]!.answers['put'] = () => 'DRAINING';
    const { stored, doubtful, reasons } = await put();
    expect([stored, doubtful]).toEqual([[], []]);
    expect(Object.keys(reasons).sort()).toEqual(['n0:1', 'n1:1', 'n2:1']);
    expect(reasons['n0:1']).toBe('not tried, because too few other nodes stored it');
    expect(puts().filter(({ index }) => index === 0)).toEqual([]);
  });

  it('counts backups alone as a success', async () => {
    const { servers, put, beginWith } = await setup(3);
    beginWith(0);
    servers[0]!.answers['put'] = () => 'BURIED 5';
    servers[0]!.answers['delete'] = () => 'NOT_FOUND';
    const { stored, doubtful } = await put();
    expect(stored).toHaveLength(2);
    expect(where(doubtful)).toEqual(['0 at n0:1#instance0:5']);
  });

  it('names the reason of each node when all are away', async () => {
    const { clock, servers, put } = await setup(3);
    for (const server of servers) {
      server.refusing = true;
      server.cut();
    }
    await clock.advance(0);
    const { stored, doubtful, reasons } = await put();
    expect([stored, doubtful]).toEqual([[], []]);
    expect(Object.keys(reasons)).toHaveLength(3);
    const notAsked = Object.values(reasons).filter((reason) => !reason.includes('ECONNREFUSED'));
    expect(notAsked).toEqual(['not tried, because too few other nodes stored it']);
  });

  it('stores a single copy on a single node', async () => {
    const { put, puts } = await setup(1, { replicas: 1, minWritten: 1 });
    const { planned, stored } = await put();
    expect([planned, where(stored)]).toEqual([1, ['0 at n0:1#instance0:1']]);
    expect(puts()).toHaveLength(1);
  });

  it('answers when it is closed, and stores nothing', async () => {
    const { cluster, put, puts } = await setup(3);
    cluster.close();
    cluster.close();
    const { stored, doubtful } = await put();
    expect([stored, doubtful, puts()]).toEqual([[], [], []]);
  });
});

describe('Cluster: delete', () => {
  async function deleteAt(location: string) {
    const all = await setup(2);
    for (const server of all.servers) {
      server.answers['delete'] = () => 'DELETED';
      server.answers['peek'] = () => 'FOUND 5 4\r\nbody';
    }
    const asked: string[] = [];
    const answer: { result?: DeleteResult; node?: ClusterNode } = {};
    all.cluster.delete(
      location,
      (body) => asked.push(body.toString()) > 0,
      (result, node) => Object.assign(answer, { result, node }),
    );
    await all.clock.advance(0);
    return { ...all, ...answer, asked, words: all.servers.map(({ words }) => words) };
  }

  it('finds the node by its instance, whatever it is called', async () => {
    const { result, node, nodes, words, asked } = await deleteAt('another-name:1#instance1:5');
    expect([result, node === nodes[1], words]).toEqual(['deleted', true, [[], ['delete']]]);
    expect(asked).toEqual([]);
  });

  it('prefers the instance to the name', async () => {
    const { node, nodes, words } = await deleteAt('n0:1#instance1:5');
    expect([node === nodes[1], words]).toEqual([true, [[], ['delete']]]);
  });

  it('falls back to its name, and looks at the copy first', async () => {
    const { result, words, asked } = await deleteAt('n1:1#before:5');
    expect([result, words, asked]).toEqual(['deleted', [[], ['peek', 'delete']], ['body']]);
  });

  it('asks all nodes about a server whose name is unknown', async () => {
    const { result, words, asked } = await deleteAt('gone:1#before:5');
    expect([result, words]).toEqual(['deleted', Array(2).fill(['peek', 'delete'])]);
    expect(asked).toEqual(['body', 'body']);
  });

  it.each(['garbage', '', 'n1:1#instance1:?', 'gone:1#before:?'])('is away at %p', async (location) => {
    const { result, words } = await deleteAt(location);
    expect([result, words]).toEqual(['away', [[], []]]);
  });
});

describe('Cluster: limits', () => {
  it('are those of its narrowest node, as far as they are known', async () => {
    const clock = new VirtualClock();
    const servers = [1_000, 2_000, 500].map((size, i) => {
      const server = new ScriptedNode(clock);
      server.answers['stats'] = () => server.ok(`id: i${i}\nmax-job-size: ${size}`);
      return server;
    });
    servers[2]!.refusing = true;
    const nodes = servers.map((server, i) => new ClusterNode('n'.repeat(10 * (i + 1)), server.dial, clock));
    const cluster = new Cluster(nodes, { replicas: 3, minWritten: 2 });
    expect(cluster.maxJobSize).toBe(Infinity);
    cluster.start();
    await clock.advance(0);
    expect(cluster.maxJobSize).toBe(1_000);
    servers[2]!.refusing = false;
    await clock.advance(3_000);
    expect(cluster.maxJobSize).toBe(500);
    expect(cluster.longestLocation).toBe(longestLocation('n'.repeat(30)));
  });
});

describe('a server that two nodes name', () => {
  const twins = (servers: readonly ScriptedNode[]) => {
    servers[1]!.instance = servers[0]!.instance;
  };

  it('gets one copy of a job, and says why it gets no other', async () => {
    const { put, puts, nodes } = await setup(3, {}, twins);
    for (let turn = 0; turn < 3; turn++) expect((await put()).stored).toHaveLength(2);
    expect(new Set(puts().map(({ node }) => node))).toEqual(new Set([0, 2]));
    expect(nodes.map(({ writable }) => writable)).toEqual([true, false, true]);
    expect(nodes[1]!.reason).toBe('it is the same server as n0:1');
  });

  it('is no quorum on its own', async () => {
    const { put, puts } = await setup(2, { replicas: 2 }, twins);
    expect((await put()).stored).toEqual([]);
    expect(puts()).toEqual([]);
  });

  it('keeps its one copy when the connection under its first name is lost and reopened', async () => {
    const { clock, put, servers, nodes } = await setup(3, {}, twins);
    servers[0]!.cut();
    await clock.advance(3_000);
    expect((await put()).stored).toHaveLength(2);
    expect(nodes.map(({ twin }) => twin?.endpoint)).toEqual([undefined, 'n0:1', undefined]);
  });

  it('gets no second copy from a put that waited for the node', async () => {
    const { clock, start, servers, nodes, puts } = await setup(3, {}, (all) => {
      twins(all);
      all[1]!.freeze();
    });
    const told: string[] = [];
    nodes[1]!.listen({ sameServer: (node, other) => told.push(`${node.endpoint} ${other.endpoint}`) });
    const storing = start();
    await clock.advance(100);
    servers[1]!.thaw();
    await clock.advance(3_000);
    expect((await storing).stored).toHaveLength(2);
    expect(new Set(puts().map(({ node }) => node))).toEqual(new Set([0, 2]));
    expect(told).toEqual(['n1:1 n0:1']);
  });
});
