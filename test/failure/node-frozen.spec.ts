import { describe, expect, it } from '@jest/globals';
import type { JobReceipt } from 'nest-dq/src/api/job.js';
import { eventually } from 'test-servers';
import { countCopies } from '../support/copies.js';
import { expectOnceEach, record, schedule, type Start } from '../support/jobs.js';
import { clusterSuite } from '../support/suite.js';

/** Milliseconds: nothing may hang on a node, on however slow a machine. */
const LIMIT = 20_000;
const HOUR = 3_600_000;

const suite = clusterSuite();

describe('a frozen node', () => {
  it('holds up neither adds nor revokes nor the running of jobs', async () => {
    const system = suite.start();
    const { nodes, producer } = system;
    await eventually('all nodes are up', () => nodes.every(({ up }) => up));
    const tube = 'frozen';
    const starts: Start[] = [];
    await record(system, tube, starts);
    const due = Date.now() + 1_000;
    const dueSoon = await schedule(system, tube, 30, () => due);
    const revoked = await schedule(system, tube, 30, () => Date.now() + HOUR);
    expect([...dueSoon, ...revoked].filter(({ copies }) => copies !== 3)).toEqual([]);

    suite.servers.beanstalkds[0]!.freeze();
    const added: JobReceipt[] = [];
    try {
      const revoking = Promise.all(revoked.map(({ ref }) => producer.revoke(ref)));
      const [answers, receipts] = await Promise.all([revoking, schedule(system, tube, 30, () => due)]);
      added.push(...receipts);
      expect(new Set(answers)).toEqual(new Set(['revoked']));
      expect(added.filter(({ copies }) => copies < 2)).toEqual([]);
      await eventually('all that was due has run', () => starts.length >= 60, LIMIT);
      expect(nodes[0]!.up).toBe(false);
    } finally {
      suite.servers.beanstalkds[0]!.thaw();
    }
    await eventually('the node is up again', () => nodes[0]!.up);
    const { copies } = await producer.delay('frozen-before', 1, '1h');
    expect(copies).toBe(3);
    const left = async () => countCopies(nodes[0]!, tube);
    await eventually('it has only what was revoked and still sleeps', async () => (await left()) === 30);
    expectOnceEach(starts, [...dueSoon, ...added]);
  }, 60_000);

  it('delays a revoke that should be confirmed, and no other', async () => {
    const system = suite.start();
    const { nodes, producer } = system;
    await eventually('all nodes are up', () => nodes.every(({ up }) => up));
    const tube = 'frozen-revokes';
    const [first, ...others] = await schedule(system, tube, 31, () => Date.now() + HOUR);
    const answered: string[] = [];
    suite.servers.beanstalkds[0]!.freeze();
    try {
      const confirmed = producer.revoke(first!, { confirmed: true }).then((answer) => {
        expect(nodes[0]!.up).toBe(false);
        answered.push(`${answer}, confirmed`);
      });
      const plain = others.map(async (receipt) => answered.push(await producer.revoke(receipt)));
      await Promise.all([confirmed, ...plain]);
    } finally {
      suite.servers.beanstalkds[0]!.thaw();
    }
    expect(answered).toEqual([...others.map(() => 'revoked'), 'revoked, confirmed']);
    await eventually('the other nodes have no copy left', async () => {
      const counts = await Promise.all(nodes.slice(1).map((node) => countCopies(node, tube)));
      return counts.every((count) => count === 0);
    });
  }, 60_000);
});
