import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Connection, Done, PutReply, Stats } from 'nest-dq/src/beanstalk/connection.js';
import type { ClusterNode } from 'nest-dq/src/cluster/cluster-node.js';
import { parseRef } from 'nest-dq/src/copies/job-ref.js';
import type { JobReceipt } from 'nest-dq/src/api/job.js';
import { Discard, Retry } from 'nest-dq/src/api/outcome.js';
import { LogReport } from 'nest-dq/src/nest/log-report.js';
import { type BeanstalkdServer, eventually, startBeanstalkd, startRedis } from 'test-servers';
import { countCopies } from '../support/copies.js';
import { expectOnceEach, isEmpty, record, schedule, type Start } from '../support/jobs.js';
import { startSystem, type Servers, type System } from '../support/system.js';

/** Bytes of a file of the log on the node with the bad disk: room for some forty jobs. */
const LOG_FILE = 20_000;
/** Delay of the jobs, in ms. */
const SOON = 2_000;

let servers: Servers;
let bad: BeanstalkdServer;
let system: System;
let node: ClusterNode;
/** Troubles reported about the node. */
let troubles: string[];
let tubes = 0;
let tube: string;

beforeAll(async () => {
  const [redis, ...beanstalkds] = await Promise.all([
    startRedis(),
    startBeanstalkd({ args: ['-s', String(LOG_FILE)] }),
    startBeanstalkd(),
    startBeanstalkd(),
  ]);
  bad = beanstalkds[0];
  const all = [redis, ...beanstalkds];
  servers = {
    redis,
    beanstalkds,
    stop: async () => void (await Promise.all(all.map((server) => server.stop()))),
  };
}, 120_000);

beforeEach(async () => {
  await bad.kill();
  await bad.wipe();
  await bad.restart();
  tube = `disk${tubes++}`;
  troubles = [];
  system = startSystem(servers);
  node = system.nodes[0]!;
  node.listen({ trouble: (_, message) => troubles.push(message) });
  await eventually('all nodes are up', () => system.nodes.every(({ up }) => up));
});

afterEach(() => system.stop());
afterAll(() => servers.stop());

/** The ids of the copies that a receipt counts on the bad node. */
const there = (receipt: JobReceipt): string[] =>
  parseRef(receipt, '')
    .places.filter(({ location }) => location.startsWith(`${bad.endpoint}#`))
    .map(({ location }) => location.replace(/.*:/, ''))
    .filter((copyId) => copyId !== '?');

async function restartedWithRoom(): Promise<void> {
  const { instance } = node;
  await bad.restart();
  await eventually('the node is another instance', () => node.up && node.instance !== instance);
}

describe('a node whose disk is full', () => {
  it('does not count copies that it refused; nothing is lost, and it stores again after a restart with room', async () => {
    await bad.limitFiles(LOG_FILE - 1); // no new file of the log
    const due = Date.now() + SOON;
    const receipts: JobReceipt[] = [];
    for (let i = 0; i < 20; i++) receipts.push(...(await schedule(system, tube, 10, () => due)));
    const counted = receipts.flatMap(there);
    expect(counted.length).toBeGreaterThan(0);
    expect(counted.length).toBeLessThan(receipts.length);
    expect(await countCopies(node, tube)).toBe(counted.length);
    expect(troubles[0]).toContain('rejects new jobs (OUT_OF_MEMORY)');
    expect([node.up, node.logStopped]).toEqual([true, false]);

    const starts: Start[] = [];
    await record(system, tube, starts);
    await eventually('all have run', () => starts.length >= receipts.length);
    await eventually('no copy is left', () => isEmpty(system, tube));
    expectOnceEach(starts, receipts);

    await restartedWithRoom();
    const [receipt] = await schedule(system, tube, 1, () => Date.now() + 3_600_000);
    expect(receipt!.copies).toBe(3);
  }, 60_000);
});

describe('a node without room for its log', () => {
  /** Leaves no room for as much as one record, unseen by the system. */
  async function fill(connection: Connection): Promise<void> {
    const options = { priority: 0, delay: 0, ttr: 600 };
    const put = () => ask<PutReply>((done) => connection.put(`full-${tube}`, ['x'], options, done));
    const ask = <T>(start: (done: Done<T>) => void) => connection.ask(start).catch(() => undefined);
    const first = await put();
    await bad.limitFiles(LOG_FILE - 1);
    while (await put());
    const { id } = first!;
    const reserve = () => ask<unknown>((done) => connection.reserveJob(id, done));
    const release = () => ask<string>((done) => connection.release(id, 0, 1_000, done));
    while ((await reserve()) && (await release()));
  }

  it('makes the consumer hold copies rather than lose them from its reach, all but the one by which that shows', async () => {
    const nodeTrouble = jest.spyOn(LogReport.prototype, 'nodeTrouble');
    const alone = startSystem({ ...servers, beanstalkds: [bad] });
    const [only] = alone.nodes as [ClusterNode];
    try {
      await eventually('the node is up', () => only.up);
      const other = only.connectLane(() => undefined)!;
      const [retried, discarded] = [
        await schedule(alone, tube, 10, Date.now),
        await schedule(alone, `${tube}-dead`, 2, Date.now),
      ];
      await fill(other);

      const attempts: number[] = [];
      await alone.consumer.consume(tube, (_, { attempt }) => {
        attempts.push(attempt);
        return attempt === 1 ? Retry.after('6s') : undefined; // long: a copy that is due within a second is not released
      });
      await eventually('it is not worth a put', () => !only.writable); // for five seconds
      await eventually(
        'nine were tried again',
        () => attempts.filter((attempt) => attempt === 2).length === 9,
      );
      await alone.consumer.consume(`${tube}-dead`, () => Discard.because('the test says so'));
      await eventually(
        'two are dead',
        () => alone.log.filter((line) => line.includes('is a dead letter')).length === 2,
      );
      expect(nodeTrouble.mock.calls).toEqual([
        [bad.endpoint, expect.stringContaining('it refused to take back a copy (OUT_OF_MEMORY)')],
      ]);
      expect(only.full).toBe(true);
      expect(await countCopies(only, tube)).toBe(0); // the tenth is in none of the states

      await bad.limitFiles(LOG_FILE);
      await other.ask<PutReply>((done) => other.put(tube, [], { priority: 0, delay: 1_000, ttr: 60 }, done));
      await eventually('it has room again', () => !only.full);
      const buried = () => other.ask<Stats | 'NOT_FOUND'>((done) => other.statsTube(`${tube}-dead`, done));
      await eventually(
        'the dead are buried',
        async () => ((await buried()) as Stats)['current-jobs-buried'] === '2',
      );
      other.close();

      await bad.restart();
      await eventually('the last is tried again', () => attempts.length === 20);
      expect([retried.length, discarded.length, attempts.toSorted((a, b) => a - b)]).toEqual([
        10,
        2,
        [...Array(10).fill(1), ...Array(10).fill(2)],
      ]);
    } finally {
      await alone.stop();
    }
  }, 60_000);
});

describe('a node that cannot write its log', () => {
  it('does not count copies from then on, though it answers INSERTED; each job runs once, even over its restart', async () => {
    const due = Date.now() + SOON;
    const before = await schedule(system, tube, 20, () => due);
    expect(before.map(({ copies }) => copies)).toEqual(Array(20).fill(3));
    const { instance } = node;
    await bad.limitFiles(4);
    const after = await schedule(system, tube, 20, () => due);
    expect(after.map(({ copies }) => copies)).toEqual(Array(20).fill(2));
    expect(after.flatMap(there)).toEqual([]);
    expect([node.up, node.writable, node.logStopped]).toEqual([true, false, true]);
    expect(troubles).toEqual([
      expect.stringContaining('rejects new jobs (BURIED)'),
      expect.stringContaining('its binlog has stopped'),
    ]);

    const starts: Start[] = [];
    await record(system, tube, starts);
    const receipts = [...before, ...after];
    await eventually('all have run', () => starts.length >= receipts.length);
    await eventually('the other nodes have no copy', () =>
      isEmpty({ ...system, nodes: system.nodes.slice(1) }, tube),
    );
    expect([node.up, node.instance]).toEqual([true, instance]); // beanstalkd did not crash

    await restartedWithRoom(); // and has again what it deleted
    await eventually('no copy is left', () => isEmpty(system, tube));
    expectOnceEach(starts, receipts);
    expect([node.writable, node.logStopped]).toEqual([true, false]);
    const [receipt] = await schedule(system, tube, 1, () => Date.now() + 3_600_000);
    expect(receipt!.copies).toBe(3);
  }, 60_000);

  it.each(['put', 'deletion'] as const)('is found out by the %ss of others alone', async (kind) => {
    const other = node.connectLane(() => undefined)!;
    const body = ['x'];
    const options = { priority: 0, delay: 1_000, ttr: 60 };
    const put = () =>
      other
        .ask<{ status: string; id: string }>((done) => other.put(tube, body, options, done))
        .then(({ status }) => status);
    const remove = (id: string) =>
      other
        .ask<string>((done) => other.delete(id, done))
        .catch((error: unknown) => (error as { code: string }).code);
    try {
      for (let i = 0; i < 2; i++) expect(await put()).toBe('INSERTED');
      await bad.limitFiles(4);
      if (kind === 'put') {
        expect([await put(), await put()]).toEqual(['BURIED', 'INSERTED']);
      } else {
        expect([await remove('1'), await remove('2')]).toEqual(['INTERNAL_ERROR', 'DELETED']);
      }
      await eventually('the node is out of writing', () => !node.writable);
      expect(troubles).toEqual([expect.stringContaining('its binlog has stopped')]);
      const [receipt] = await schedule(system, tube, 1, () => Date.now() + 3_600_000);
      expect([receipt!.copies, there(receipt!)]).toEqual([2, []]);
    } finally {
      other.close();
    }
  });
});
