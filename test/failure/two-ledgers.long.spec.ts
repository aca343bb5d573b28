// Processes with different Redis over the same nodes: each job runs once, and the newcomer says why it runs none.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { setTimeout as elapsed } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { DqOptions } from 'nest-dq/src/nest/options.js';
import { announcedIn } from 'nest-dq/src/cluster/admission.js';
import { ask, eventually, startRedis, type RedisServer } from 'test-servers';
import { isEmpty, record, schedule, type Start } from '../support/jobs.js';
import { closedAfterEach, clusterSuite } from '../support/suite.js';
import { startSystem, type System } from '../support/system.js';

const suite = clusterSuite();
const open = closedAfterEach<{ close(): Promise<unknown> }>();
let theirRedis: RedisServer;

beforeAll(async () => {
  theirRedis = await startRedis();
}, 60_000);
afterAll(() => theirRedis.stop());

/** A process that is stopped after the test. */
function start(redis: RedisServer, options: DqOptions = {}): System {
  const system = startSystem({ ...suite.servers, redis }, options);
  open.push({ close: system.stop });
  return system;
}

async function health(system: System) {
  return (await system.health.check()).dq;
}

/** The identities of the ledgers that the nodes show, by node. */
async function announced(prefix = ''): Promise<string[][]> {
  const lists = suite.servers.beanstalkds.map((node) => ask(node, 'list-tubes'));
  return (await Promise.all(lists)).map((list) =>
    announcedIn(
      list.split('\n').map((line) => line.slice(2)),
      prefix,
    ),
  );
}

/** Resolves once each node shows this many ledgers. */
function showsLedgers(count: number): Promise<void> {
  return eventually(`each node shows ${count} ledgers`, async () =>
    (await announced()).every(({ length }) => length === count),
  );
}

async function flush(redis: RedisServer): Promise<void> {
  const client = new Redis(redis.url);
  await client.flushall();
  client.disconnect();
}

/** Consumes the tube; each run takes longer than it takes for a backup copy to surface. */
async function runsLong(system: System, tube: string, starts: string[]): Promise<void> {
  await system.consumer.consume(tube, async (_payload, job) => {
    starts.push(job.id);
    await elapsed(3_000);
  });
}

it('a job that takes longer than the backup delay runs once, and the process with another Redis names both ledgers', async () => {
  const [first, tube] = [start(suite.servers.redis), 'two-ledgers'];
  const starts: string[] = [];
  await runsLong(first, tube, starts);
  await showsLedgers(1);
  const [[ours]] = (await announced()) as [[string]];
  const newcomer = start(theirRedis);
  await runsLong(newcomer, tube, starts);
  const receipts = await schedule(first, tube, 10, () => Date.now() + 500);
  await eventually('all of them ran', () => new Set(starts).size === receipts.length);
  await eventually('no copy is left', () => isEmpty(first, tube));
  expect(starts.toSorted()).toEqual(receipts.map(({ id }) => id).toSorted());
  await eventually('it is refused', async () => (await health(newcomer)).otherLedger !== undefined);

  const { status, redis, otherLedger } = await health(newcomer);
  expect({ status, redis, otherLedger }).toEqual({
    status: 'down',
    redis: 'up',
    otherLedger: {
      id: ours,
      ours: expect.stringMatching(/^[0-9a-f]{16}$/),
      node: expect.any(String),
      refused: true,
    },
  });
  const lines = newcomer.log.filter((line) => line.includes('runs no jobs'));
  expect(lines).toEqual([expect.stringContaining(`its Redis has the ledger ${otherLedger!.ours}`)]);
  expect(lines[0]).toContain(`processes at ${otherLedger!.node} use the ledger ${ours}`);
  expect(await health(first)).not.toHaveProperty('otherLedger');
  expect(await announced()).toEqual([[ours], [ours], [ours]]);
}, 60_000);

it('a process with another Redis decides nothing, and begins when no other is left', async () => {
  const tube = 'refused';
  const first = start(suite.servers.redis);
  await showsLedgers(1);
  const waits = await first.producer.delay(tube, {}, '1h', { key: 'k' });
  const newcomer = start(theirRedis);
  const starts: Start[] = [];
  await record(newcomer, tube, starts);
  await eventually('it was refused', async () => (await health(newcomer)).otherLedger !== undefined);
  const refused = { code: 'DQ_OTHER_LEDGER' };
  await expect(newcomer.producer.revoke({ tube, key: 'k' })).rejects.toMatchObject(refused);
  await expect(newcomer.producer.revoke(waits)).rejects.toMatchObject(refused);
  await expect(newcomer.producer.find({ tube, key: 'k' })).rejects.toMatchObject(refused);
  await expect(newcomer.producer.delay(tube, {}, '1h', { key: 'k' })).rejects.toMatchObject(refused);
  await expect(newcomer.control.pause(tube)).rejects.toMatchObject(refused);
  await newcomer.producer.now(tube, {});
  await expect(first.producer.revoke(waits)).resolves.toBe('revoked');
  await first.stop();
  await eventually('the job without a key ran', () => starts.length === 1);
  expect(await health(newcomer)).toMatchObject({ status: 'up' });
  expect(await health(newcomer)).not.toHaveProperty('otherLedger');
  expect(newcomer.log.at(-1)).toContain('no node shows another ledger any more');
  await expect(newcomer.producer.delay(tube, {}, '1h', { key: 'k' })).resolves.toMatchObject({
    status: 'added',
  });
}, 60_000);

it('a process that only produces is refused, too, and refuses nobody', async () => {
  const producer = start(theirRedis, { consume: false });
  await expect(producer.producer.find({ tube: 'produced', key: 'k' })).resolves.toBeUndefined();
  start(suite.servers.redis);
  await showsLedgers(1);
  const second = start(theirRedis, { consume: false });
  await eventually('it was refused', async () => (await health(second)).otherLedger !== undefined);
  await expect(second.producer.find({ tube: 'produced', key: 'k' })).rejects.toMatchObject({
    code: 'DQ_OTHER_LEDGER',
  });
}, 60_000);

it('of two that start at the same time, one runs jobs and the other is refused', async () => {
  for (let turn = 0; turn < 3; turn++) {
    const both = [start(suite.servers.redis), start(theirRedis)];
    await eventually('one of them was refused, and the other was not', async () => {
      const states = await Promise.all(both.map(health));
      const shown = (await announced()).map(({ length }) => length);
      return (
        states.filter(({ otherLedger }) => otherLedger?.refused).length === 1 &&
        shown.every((count) => count === 1)
      );
    });
    await Promise.all(both.map(({ stop }) => stop()));
  }
}, 120_000);

it('another prefix is another application, with a Redis of its own', async () => {
  const [one, other] = [start(suite.servers.redis, { prefix: 'a.' }), start(theirRedis, { prefix: 'b.' })];
  const starts: Start[] = [];
  await record(one, 'mine', starts);
  await record(other, 'mine', starts);
  await one.producer.now('mine', {});
  await other.producer.now('mine', {});
  await eventually('both ran', () => starts.length === 2);
  expect((await announced('a.')).flat()).toHaveLength(3);
  expect((await announced('b.')).flat()).toHaveLength(3);
}, 60_000);

it('FLUSHALL refuses nobody: the processes that live give the ledger its identity back', async () => {
  const starts: Start[] = [];
  await record(start(suite.servers.redis), 'flushed', starts);
  await showsLedgers(1);
  const [[before]] = (await announced()) as [[string]];
  await flush(suite.servers.redis);
  const client = new Redis(suite.servers.redis.url);
  await eventually('the identity is back', async () => (await client.get('{:}::ledger')) === before);
  client.disconnect();
  const newcomer = start(suite.servers.redis);
  await record(newcomer, 'flushed-too', starts);
  await newcomer.producer.now('flushed-too', {});
  await eventually('the newcomer runs jobs', () => starts.length === 1);
  expect((await announced()).flat()).toEqual([before, before, before]);
}, 60_000);

it('a newcomer right after FLUSHALL stops nobody for longer than the others need to see it', async () => {
  const [starts, tube] = [[] as Start[], 'flushed-before'];
  const first = start(suite.servers.redis);
  await record(first, tube, starts);
  await showsLedgers(1);
  await flush(suite.servers.redis);
  const newcomer = start(suite.servers.redis);
  await record(newcomer, `${tube}-too`, starts);
  await first.producer.now(tube, {});
  await newcomer.producer.now(`${tube}-too`, {});
  await eventually('both run jobs', () => starts.length === 2);
  await eventually('nobody is refused', async () => {
    const states = await Promise.all([first, newcomer].map(health));
    return states.every(({ status }) => status === 'up');
  });
  expect(new Set((await announced()).flat()).size).toBe(1);
}, 60_000);

it('a Redis that took the place of another refuses nobody once all processes were restarted', async () => {
  const before = start(suite.servers.redis);
  await showsLedgers(1);
  await before.stop();
  const starts: Start[] = [];
  const after = start(theirRedis);
  await record(after, 'moved', starts);
  await after.producer.now('moved', {});
  await eventually('it runs jobs', () => starts.length === 1, 4_000);
  expect(after.log.filter((line) => line.includes('ledger'))).toEqual([]);
}, 60_000);

it('a view of the tubes has none that announces a ledger', async () => {
  const system = start(suite.servers.redis);
  await record(system, 'seen', []);
  await showsLedgers(1);
  await eventually('the tube is there', async () => {
    const { tubes } = await system.inspector.tubes();
    expect(tubes.filter(({ tube }) => tube.includes('ledger'))).toEqual([]);
    return tubes.some(({ tube }) => tube === 'seen');
  });
}, 60_000);
