import { describe, expect, it } from '@jest/globals';
import { stored } from 'nest-dq/spec-support/stored.js';
import { eventually } from 'test-servers';
import { expectOnceEach, record, type Start } from '../support/jobs.js';
import { clusterSuite } from '../support/suite.js';

/** Milliseconds: more than any machine needs, and less than a test may take. */
const PATIENCE = 90_000;
const NUMBERS = Array.from({ length: 200 }, (_, n) => n);

const suite = clusterSuite();

describe('while all servers stand still', () => {
  it('adds wait, and each job then runs once', async () => {
    const system = suite.start({ patience: PATIENCE });
    const { nodes, producer } = system;
    await eventually('all nodes are up', () => nodes.every(({ up }) => up));
    const starts: Start[] = [];
    await record(system, 'still', starts);
    for (const server of suite.servers.beanstalkds) server.freeze();
    const adds = NUMBERS.map((n) => producer.now('still', n));
    const keyed = NUMBERS.map((n) => producer.now('still', n, { key: `k${n}` }));
    try {
      await eventually('no node answers', () => nodes.every(({ up }) => !up));
    } finally {
      for (const server of suite.servers.beanstalkds) server.thaw();
    }
    const receipts = await Promise.all([...adds, ...keyed]);
    expect(receipts.filter(({ copies }) => copies < 2)).toEqual([]);
    await eventually('all have run', () => starts.length >= receipts.length);
    expectOnceEach(starts, receipts);
  }, 120_000);
});

describe('while Redis is away', () => {
  it('keyed adds, moves, revokes and finds wait for it, from the start of a process on', async () => {
    const { redis } = suite.servers;
    const before = suite.start();
    const moved = await before.producer.delay('away', 'moved', '1h');
    const revoked = await before.producer.delay('away', 'revoked', '1h');
    await redis.kill();
    const { producer, ledger } = suite.start({ patience: PATIENCE });
    const calls = [
      ...NUMBERS.map((n) => producer.delay('away', n, '1h', { key: `k${n}` }).then(({ status }) => status)),
      producer.reschedule(moved, { delay: '2h' }),
      producer.revoke(revoked),
      producer.find(moved).then((view) => view?.state),
    ];
    try {
      await eventually('Redis is known to be away', () => ledger.tube(stored('away')).away);
      const error = await producer.find(moved, { patience: 0 }).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: 'DQ_LEDGER_DOWN', indeterminate: false });
    } finally {
      await redis.restart();
    }
    const answers = await Promise.all(calls);
    expect(answers).toEqual([...NUMBERS.map(() => 'added'), 'rescheduled', 'revoked', 'waiting']);
    expect((await producer.find(moved))!.dueAt.getTime()).toBeGreaterThan(moved.dueAt.getTime());
  }, 120_000);
});
