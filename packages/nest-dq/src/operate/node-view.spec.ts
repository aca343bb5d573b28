import { describe, expect, it } from '@jest/globals';
import { setup, setupUp } from '../../spec-support/cluster-node-setup.js';
import { ClusterNode } from '../cluster/cluster-node.js';
import { InProcessNode } from '../embedded/in-process-node.js';
import { VirtualClock } from 'nest-handlers/testing';
import { viewOfNode } from './node-view.js';

/** The view of a node after `ms`. */
async function viewed(clock: VirtualClock, node: ClusterNode, ms = 0) {
  const view = viewOfNode(node, clock);
  await clock.advance(ms);
  return view;
}

describe('the view of a node', () => {
  it('has the figures of its statistics', async () => {
    const clock = new VirtualClock();
    const server = new InProcessNode(clock);
    const node = new ClusterNode('n1:11300', () => server.dial(), clock);
    node.start();
    await clock.advance(3_000);
    for (const delay of [0, 60, 60]) {
      node.put({ tube: 't', body: ['x'], priority: 1, delay: () => delay, done: () => undefined });
    }
    expect(await viewed(clock, node)).toEqual({
      endpoint: 'n1:11300',
      up: true,
      drained: false,
      instance: node.instance,
      version: '1.12',
      uptime: 3_000,
      connections: 1,
      copies: { ready: 1, delayed: 2, reserved: 0, buried: 0 },
      binlog: 'none',
      maxJobSize: 65_535,
      draining: false,
      cpu: expect.any(Number),
    });
  });

  it('says whether the binlog works, and how large it is', async () => {
    const { clock, server, node } = setup();
    const files = { 'binlog-oldest-index': 3, 'binlog-current-index': 5, 'binlog-max-size': 1_000 };
    Object.assign(server.counters, files, { 'binlog-records-written': 7, 'total-jobs': 7 });
    node.start();
    await clock.advance(0);
    expect(await viewed(clock, node)).toMatchObject({ up: true, binlog: 'working', binlogSize: 3_000 });
    server.counters['total-jobs'] = 8; // and no record more
    await clock.advance(500);
    const since = new Date(clock.wall());
    const stopped = { up: false, reason: 'its binlog has stopped', since, binlog: 'stopped' };
    expect(await viewed(clock, node)).toMatchObject(stopped);
  });

  it('has nothing but the reason of a node that is away, at once', async () => {
    const { clock, server, node } = setup();
    server.refusing = true;
    node.start();
    await clock.advance(100);
    const reason = expect.stringContaining('ECONNREFUSED');
    expect(await viewed(clock, node)).toEqual({
      endpoint: 'n1:11300',
      up: false,
      reason,
      since: new Date(clock.wall() - 100),
      drained: false,
    });
  });

  it('is there after half a second, if the node froze just now', async () => {
    const { clock, server, node } = await setupUp();
    await clock.advance(490); // the ping, which has half a second too, comes after the question
    server.freeze();
    const reason = expect.stringMatching(/no (answer|reply)/);
    expect(await viewed(clock, node, 500)).toEqual({
      endpoint: 'n1:11300',
      up: false,
      reason,
      drained: false,
    });
  });

  it('is there after half a second, if the node was never reached', async () => {
    const { clock, server, node } = setup();
    server.freeze();
    expect(await viewed(clock, node, 500)).toMatchObject({ up: false, reason: 'no answer yet' });
  });
});
