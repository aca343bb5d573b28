import { describe, expect, it } from '@jest/globals';
import { ClusterNode } from '../cluster/cluster-node.js';
import { Cluster } from '../cluster/cluster.js';
import { scripted } from '../../spec-support/producing.js';
import type { ScriptedNode } from '../../spec-support/scripted-node.js';
import { VirtualClock } from 'nest-handlers/testing';
import { ClusterHealth } from './health.js';

const yes = () => Promise.resolve(undefined);
const redisDown = { reason: 'connect ECONNREFUSED 10.0.0.9:6379', since: new Date(0) };
const no = () => Promise.resolve(redisDown);
const dialNothing = () => {
  throw new Error('it was not started');
};

describe('ClusterHealth', () => {
  it('is up with all nodes and Redis, under the key it is asked for', async () => {
    const { cluster } = await scripted();
    const nodes = { 'n0:1': 'up', 'n1:1': 'up', 'n2:1': 'up' };
    const health = new ClusterHealth(cluster, yes);
    expect(await health.check()).toEqual({ dq: { status: 'up', nodes, redis: 'up' } });
    expect(await health.check('jobs')).toEqual({ jobs: { status: 'up', nodes, redis: 'up' } });
    expect((await new ClusterHealth(cluster, undefined).check()).dq).toEqual({
      status: 'up',
      nodes,
      redis: 'none',
    });
  });

  it('stays up with lost jobs, and reports how many and which was found last', async () => {
    const { cluster } = await scripted();
    const lost = { count: 3, latest: { tube: 't', id: 'a', dueAt: new Date(0) } };
    const { dq } = await new ClusterHealth(
      cluster,
      yes,
      () => [],
      () => lost,
    ).check();
    expect(dq).toMatchObject({ status: 'up', lost });
  });

  it('is down without Redis, and says why and since when', async () => {
    const { cluster } = await scripted();
    const { dq } = await new ClusterHealth(cluster, no).check();
    expect(dq).toMatchObject({ status: 'down', redis: 'down', redisDown });
  });

  it('is down where other processes have another ledger, unless this one came first', async () => {
    const { cluster } = await scripted();
    const other = { id: 'a', ours: 'b', node: 'n0:1' };
    const check = async (admitted: boolean) => {
      const admission = { admitted, other, unread: undefined };
      const health = new ClusterHealth(
        cluster,
        yes,
        () => [],
        () => undefined,
        () => admission,
      );
      return (await health.check()).dq;
    };
    expect(await check(false)).toMatchObject({ status: 'down', otherLedger: { ...other, refused: true } });
    expect(await check(true)).toMatchObject({ status: 'up', otherLedger: { ...other, refused: false } });
  });

  it('is down where the identity of the ledger cannot be read, unless Redis is away or this process was admitted before', async () => {
    const { cluster } = await scripted();
    const check = async (admitted: boolean) => {
      const admission = { admitted, other: undefined, unread: new Error('WRONGTYPE') };
      const nothing = () => undefined;
      return (
        await new ClusterHealth(
          cluster,
          yes,
          () => [],
          nothing,
          () => admission,
        ).check()
      ).dq;
    };
    expect(await check(false)).toMatchObject({ status: 'down', redis: 'up', unidentified: 'WRONGTYPE' });
    expect(await check(true)).toEqual(expect.not.objectContaining({ unidentified: expect.anything() }));
  });

  it('is up, with the reason, while enough nodes are there, and down below that', async () => {
    const { cluster, cut, restore, clock } = await scripted();
    const health = new ClusterHealth(cluster, yes);
    await cut(1);
    const one = (await health.check()).dq;
    expect(one).toMatchObject({ status: 'up', nodes: { 'n0:1': 'up', 'n2:1': 'up' } });
    expect(one.nodes['n1:1']).toMatch(/closed|ECONNREFUSED/);
    expect(one.nodesSince).toEqual({ 'n1:1': new Date(clock.wall()) });
    await clock.advance(5_000);
    await cut(2);
    const two = (await health.check()).dq;
    expect(two).toMatchObject({ status: 'down', nodesSince: { 'n1:1': one.nodesSince!['n1:1'] } });
    await restore();
    const back = (await health.check()).dq;
    expect(back.status).toBe('up');
    expect(back).not.toHaveProperty('nodesSince');
  });

  it('counts no node that answers but does not store', async () => {
    const { clock, cluster, producer, after } = await scripted(3, '', (server, i) => {
      if (i > 0) server.answers['put'] = () => 'OUT_OF_MEMORY';
    });
    const health = new ClusterHealth(cluster, yes);
    await after(2_000, producer.now('t', {})).catch(() => undefined);
    expect((await health.check()).dq).toEqual({
      status: 'down',
      nodes: {
        'n0:1': 'up',
        'n1:1': 'it rejects new jobs (OUT_OF_MEMORY)',
        'n2:1': 'it rejects new jobs (OUT_OF_MEMORY)',
      },
      nodesSince: { 'n1:1': new Date(clock.wall() - 2_000), 'n2:1': new Date(clock.wall() - 2_000) },
      redis: 'up',
    });
  });

  it('counts a server once that two nodes name, and says which two', async () => {
    const twins = (server: ScriptedNode) => Object.assign(server, { instance: 'one' });
    const three = await scripted(3, '', (server, i) => i < 2 && twins(server));
    const nodes = { 'n0:1': 'up', 'n1:1': 'it is the same server as n0:1', 'n2:1': 'up' };
    const health = (await new ClusterHealth(three.cluster, yes).check()).dq;
    const nodesSince = { 'n1:1': new Date(three.clock.wall()) };
    expect(health).toEqual({ status: 'up', nodes, nodesSince, redis: 'up' });
    const two = await scripted(2, '', twins);
    expect((await new ClusterHealth(two.cluster, yes).check()).dq.status).toBe('down');
  });

  it('is down before the first connection', async () => {
    const clock = new VirtualClock();
    const node = new ClusterNode('n0:1', dialNothing, clock);
    const cluster = new Cluster([node], { replicas: 1, minWritten: 1 });
    const { dq } = await new ClusterHealth(cluster, undefined).check();
    expect(dq).toEqual({ status: 'down', nodes: { 'n0:1': 'not connected yet' }, redis: 'none' });
  });
});
