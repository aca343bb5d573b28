import { beforeEach, describe, expect, it } from '@jest/globals';
import type { HandlerMethod } from 'nest-dq';
import { eventually } from 'test-servers';
import { expectOnceEach, schedule, startOf, type Start } from '../support/jobs.js';
import { clusterSuite } from '../support/suite.js';
import type { System } from '../support/system.js';

/** Fewer than the files that a beanstalkd has open anyway: it takes no connection more. */
const NONE = 4;
const ENOUGH = 1_024;

const suite = clusterSuite();
let system: System;
/** Troubles reported about each node. */
let troubles: Map<string, string[]>;

beforeEach(async () => {
  system = suite.start();
  troubles = new Map();
  for (const node of system.nodes) {
    troubles.set(node.endpoint, []);
    node.listen({ trouble: ({ endpoint }, message) => troubles.get(endpoint)!.push(message) });
  }
  await eventually('all nodes are up', () => system.nodes.every(({ up }) => up));
});

const limit = (count: number, nodes = suite.servers.beanstalkds) =>
  Promise.all(nodes.map((node) => node.limitOpenFiles(count)));
const status = async () => (await system.health.check()).dq.status;

/**
 * Consumes while these nodes accept no more connections, until each has been reported. A standstill of the machine may cut the
 * connection by which a node is asked how it is. At the limit that one is not opened again, and an absent node tells nothing
 * else: then all of it starts over.
 */
async function consumeAtLimit(
  tubes: readonly string[],
  servers: typeof suite.servers.beanstalkds,
  handler: HandlerMethod,
): Promise<void> {
  const nodes = system.nodes.filter((node) => servers.some(({ endpoint }) => endpoint === node.endpoint));
  const areReported = () => nodes.every(({ endpoint }) => troubles.get(endpoint)!.length > 0);
  for (;;) {
    await limit(NONE, servers);
    const consumptions = await Promise.all(tubes.map((tube) => system.consumer.consume(tube, handler)));
    await eventually('it is reported', () => areReported() || nodes.some(({ up }) => !up));
    if (areReported()) return;
    await Promise.all(consumptions.map((consumption) => consumption.stop()));
    await limit(ENOUGH, servers);
    await eventually('the nodes are up again', () => nodes.every(({ up }) => up));
  }
}

describe('a node at its limit of open files', () => {
  it('is reported, with what to do, while its jobs wait, and they run when it has files again', async () => {
    const starts: Start[] = [];
    try {
      await consumeAtLimit(
        ['one', 'two'],
        suite.servers.beanstalkds,
        (_payload, job) => void starts.push(startOf(job)),
      );
      for (const reported of troubles.values()) {
        expect(reported).toEqual([
          expect.stringMatching(
            /^cannot open a connection to reserve from .*(one|two).* \(DEADLINE: .*\), so .*; the node is probably at its open file limit: raise it/,
          ),
        ]);
      }
      expect(await status()).toBe('down');
      expect(system.nodes.every(({ up, writable }) => up && writable)).toBe(true);
      const receipts = [
        ...(await schedule(system, 'one', 10, () => Date.now())),
        ...(await schedule(system, 'two', 10, () => Date.now())),
      ];
      expect(starts).toEqual([]);
      await limit(ENOUGH);
      await eventually('all have run', () => starts.length === receipts.length);
      expectOnceEach(starts, receipts);
      await eventually('all is well', async () => (await status()) === 'up');
      expect(system.nodes.map(({ reason }) => reason)).toEqual(['up', 'up', 'up']);
    } finally {
      await limit(ENOUGH);
    }
  }, 60_000);

  it('makes the health say so, and no more, while the others are enough', async () => {
    const [full] = suite.servers.beanstalkds;
    try {
      await consumeAtLimit(['three'], [full!], () => undefined);
      expect((await system.health.check()).dq).toMatchObject({
        status: 'up',
        nodes: { [full!.endpoint]: expect.stringContaining('from tube three') },
      });
    } finally {
      await limit(ENOUGH);
    }
  }, 60_000);
});
