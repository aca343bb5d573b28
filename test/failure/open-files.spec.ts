import { beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from 'test-servers';
import { expectOnceEach, schedule, startOf, type Start } from '../support/jobs.js';
import { clusterSuite } from '../support/suite.js';
import type { System } from '../support/system.js';

/** Fewer than the files that a beanstalkd has open anyway: it takes no connection more. */
const NONE = 4;
const ENOUGH = 1_024;

const suite = clusterSuite();
let system: System;
/** What was told of each node. */
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

describe('a node at its limit of open files', () => {
  it('is told of, with what to do, while its jobs wait, and they run when it has files again', async () => {
    await limit(NONE);
    const starts: Start[] = [];
    try {
      for (const tube of ['one', 'two']) {
        await system.consumer.consume(tube, (_payload, job) => void starts.push(startOf(job)));
      }
      await eventually('it is told', () => [...troubles.values()].every(({ length }) => length > 0));
      for (const told of troubles.values()) {
        expect(told).toEqual([
          expect.stringMatching(
            /^no connection for reserving can be opened for .*(one|two).* \(DEADLINE: .*\), so .*; the node is probably at its limit of open files: raise it/,
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
    await limit(NONE, [full!]);
    try {
      await system.consumer.consume('three', () => undefined);
      await eventually('it is told', () => troubles.get(full!.endpoint)!.length > 0);
      expect((await system.health.check()).dq).toMatchObject({
        status: 'up',
        nodes: { [full!.endpoint]: expect.stringContaining('the tube three') },
      });
    } finally {
      await limit(ENOUGH);
    }
  }, 60_000);
});
