import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { DelayedJob, JobReceipt } from 'nest-dq/src/job.js';
import {
  startServers,
  startSystem,
  type Servers,
  type System,
  type SystemOptions,
} from '../support/system.js';
import { eventually } from '../support/waiting.js';

interface Start {
  readonly id: string;
  readonly copy: number;
  readonly lateness: number;
}

let servers: Servers;
const systems: System[] = [];
let tubes = 0;

beforeAll(async () => {
  servers = await startServers();
}, 120_000);
afterEach(async () => {
  await Promise.all(systems.splice(0).map((system) => system.stop()));
}, 30_000);
afterAll(() => servers.stop());

function system(options?: SystemOptions): System {
  const started = startSystem(servers, options);
  systems.push(started);
  return started;
}

/** Consumes a tube and notes each start. */
async function record({ consumer }: System, tube: string, starts: Start[], concurrency = 50): Promise<void> {
  await consumer.consume(
    tube,
    (_payload, job) => {
      starts.push({ id: job.id, copy: copyOf(job), lateness: job.lateness });
    },
    { concurrency },
  );
}

/** Which copy a job was run from: a primary names all of its siblings, a backup none. */
function copyOf(job: DelayedJob): number {
  const places = (JSON.parse(Buffer.from(job.ids.slice(4), 'base64url').toString()) as unknown[])[5];
  return (places as [number, string][])[0]![0];
}

async function schedule(
  { producer }: System,
  tube: string,
  count: number,
  due: (i: number) => number,
): Promise<JobReceipt[]> {
  return Promise.all(Array.from({ length: count }, (_, i) => producer.at(tube, { i }, due(i))));
}

function expectOnceEach(starts: readonly Start[], receipts: readonly JobReceipt[]): void {
  const ids = starts.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(new Set(ids)).toEqual(new Set(receipts.map(({ id }) => id)));
  expect(starts.filter(({ lateness }) => lateness < 0)).toEqual([]);
}

describe('a cluster of three nodes and a Redis', () => {
  it('runs each of 1,500 jobs once, not early, and from its primary copy', async () => {
    const starts: Start[] = [];
    const one = system();
    const tube = `t${tubes++}`;
    const receipts = await schedule(one, tube, 1_500, (i) => Date.now() + 1_000 + i);
    expect(receipts.filter(({ copies }) => copies !== 3)).toEqual([]);
    await record(one, tube, starts);
    await eventually('all ran', () => starts.length >= receipts.length);
    expectOnceEach(starts, receipts);
    expect(starts.filter(({ copy }) => copy !== 0)).toEqual([]);
    await eventually('no copy is left', () => isEmpty(one, tube));
  }, 60_000);

  it('loses nothing, and runs nothing twice, when a node is killed before the jobs are due', async () => {
    const starts: Start[] = [];
    const one = system();
    const two = system();
    const tube = `t${tubes++}`;
    await record(one, tube, starts);
    await record(two, tube, starts);
    const receipts = await schedule(one, tube, 1_500, (i) => Date.now() + 1_500 + i);
    await servers.beanstalkds[0]!.kill();
    try {
      await eventually('all ran', () => starts.length >= receipts.length);
      expectOnceEach(starts, receipts);
      expect(starts.some(({ copy }) => copy > 0)).toBe(true);
    } finally {
      await servers.beanstalkds[0]!.restart();
    }
    await eventually('the node that was away is emptied', () => isEmpty(one, tube));
    expectOnceEach(starts, receipts);
  }, 60_000);

  it('never starts a job that was revoked, wherever its copies are', async () => {
    const starts: Start[] = [];
    const one = system();
    const tube = `t${tubes++}`;
    await record(one, tube, starts);
    const receipts = await schedule(one, tube, 200, (i) => Date.now() + 1_500 + i);
    await servers.beanstalkds[1]!.kill();
    const revoked = receipts.filter((_, i) => i % 2 === 0);
    const answers = await Promise.all(revoked.map(({ ids }) => one.producer.revoke(ids)));
    expect(new Set(answers)).toEqual(new Set(['revoked']));
    await servers.beanstalkds[1]!.restart();
    const kept = receipts.filter((_, i) => i % 2 === 1);
    await eventually('the others ran', () => starts.length >= kept.length);
    await eventually('no copy is left', () => isEmpty(one, tube));
    expectOnceEach(starts, kept);
  }, 60_000);
});

/** No node has a copy of the tube's jobs. */
async function isEmpty({ nodes }: System, tube: string): Promise<boolean> {
  const counts = await Promise.all(
    nodes.map(async (node) => {
      const connection = node.connectLane(() => undefined);
      if (!connection) return 1;
      const stats = await connection.ask<Readonly<Record<string, string>> | 'NOT_FOUND'>((done) =>
        connection.statsTube(tube, done),
      );
      connection.close();
      if (stats === 'NOT_FOUND') return 0;
      const kinds = ['ready', 'reserved', 'delayed', 'buried'];
      return kinds.reduce((sum, kind) => sum + Number(stats[`current-jobs-${kind}`]), 0);
    }),
  );
  return counts.every((count) => count === 0);
}
