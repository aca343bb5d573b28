import { beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { defineTube, type JobRef } from 'nest-dq';
import { eventually } from 'test-servers';
import { isEmpty } from '../support/jobs.js';
import { clusterSuite, closedAfterEach } from '../support/suite.js';
import type { System } from '../support/system.js';
import { exchange, lockOf, stamp, storeAsGoQueue } from './as-go-queue.js';

const suite = clusterSuite();
const open = closedAfterEach();
let system: System;
let redis: Redis;
let tubes = 0;
/** Another one for each test. */
let tube: string;

beforeEach(async () => {
  tube = `order.looked-at-${++tubes}`;
  system = suite.start();
  redis = new Redis(suite.servers.redis.url);
  open.push({ close: async () => redis.disconnect() });
  await eventually('all nodes are up', () => system.nodes.every(({ up }) => up));
});

const shared = () => defineTube<{ id: string }>(tube, { wire: 'go-queue' });
const due = () => Date.now() + 3_600_000;

async function addInGo(): Promise<{ ref: JobRef; id: string }> {
  const body = `${stamp(due())}/{"id":"A1"}`;
  const ids = await storeAsGoQueue(tube, body, 3_600, suite.servers.beanstalkds);
  return { ref: { ref: ids }, id: lockOf(body) };
}

async function addInNest(): Promise<{ ref: JobRef; id: string }> {
  const { ref, id } = await system.producer.at(shared(), { id: 'A1' }, due());
  return { ref, id };
}

/** The answers of `find` and `explain`. */
async function looked(ref: JobRef) {
  const found = await system.producer.find(ref);
  const { state, tube: of } = await system.inspector.explain(ref);
  expect({ state, of }).toEqual({ state: found?.state, of: found?.tube });
  return { state, tube: of };
}

describe.each([
  ["go-queue's reference of a job that it stored", addInGo],
  ['the receipt of a job that we stored', addInNest],
])('a look at a job by %s shows', (_, add) => {
  it('that the job waits', async () => {
    const { ref, id } = await add();
    expect(await looked(ref)).toMatchObject({ state: 'waiting', tube });
    expect(await system.producer.find(ref)).toMatchObject({ id, attempt: 0 });
  });

  it("that go-queue has begun it, as nobody else's end of it is known", async () => {
    const { ref, id } = await add();
    await redis.set(id, 'abcdefghij012345', 'PX', 3_600_500);
    expect((await system.producer.find(ref))?.state).toBe('done');
  });
});

it('a receipt shows that the job is revoked', async () => {
  const { ref } = await addInNest();
  expect(await system.producer.revoke(ref)).toBe('revoked');
  expect((await system.producer.find(ref))?.state).toBe('revoked');
});

describe('an adopted job', () => {
  it('is found by both references as the job of ours that it has become', async () => {
    const failed: string[] = [];
    const body = `${stamp(Date.now() + 1_500)}/{"id":"A1"}`;
    const ids = await storeAsGoQueue(tube, body, 1, suite.servers.beanstalkds);
    const receipt = await system.producer.delay(shared(), { id: 'A2' }, '1s');
    await system.consumer.consume(
      shared(),
      ({ id }) => {
        failed.push(id);
        throw new Error('not yet');
      },
      { attempts: 2, backoff: { type: 'fixed', delay: '1h' } },
    );
    await eventually('both have failed', () => failed.length === 2);
    const isRetrying = async () => (await system.producer.find(receipt))?.state === 'retrying';
    await eventually('the retry is noted', isRetrying);
    expect(await looked(receipt.ref)).toMatchObject({ state: 'retrying', tube: `${tube}.nest` });
    // Its copies may all be gone: then nothing tells which job it was.
    const byIds = await system.producer.find({ ref: ids });
    if (byIds) expect(byIds).toMatchObject({ key: lockOf(body), tube: `${tube}.nest` });
  });

  it('cannot be explained by copies that are gone, and says why', async () => {
    await system.consumer.consume(shared(), () => undefined);
    const ids = await storeAsGoQueue(tube, `${stamp(Date.now())}/{}`, 0, suite.servers.beanstalkds);
    const isGone = async () => (await isEmpty(system, tube)) && isEmpty(system, `${tube}.nest`);
    await eventually('all copies are gone', isGone);
    expect(await system.producer.find({ ref: ids })).toBeUndefined();
    await expect(system.inspector.explain({ ref: ids })).rejects.toMatchObject({
      code: 'DQ_BAD_REF',
      message: expect.stringContaining('expected one of them'),
    });
  });
});

it('a receipt has the ids by which go-queue deletes the copies', async () => {
  const { goQueueIds, copies } = await system.producer.delay(shared(), { id: 'A1' }, '1h');
  const named = goQueueIds!.split(',').map((each) => each.split('/'));
  expect(named).toHaveLength(copies);
  for (const [endpoint, of, id] of named) {
    expect(of).toBe(tube);
    await exchange(endpoint!, `delete ${id}\r\n`, /^DELETED\r\n/);
  }
  expect(await isEmpty(system, tube)).toBe(true);
  expect(await system.producer.delay('order.plain', {}, '1h')).not.toHaveProperty('goQueueIds');
});

it('a job of go-queue is adopted despite the limit of the handler, which applies to its run', async () => {
  const ends: (() => void)[] = [];
  await system.consumer.consume(shared(), () => new Promise<void>((end) => ends.push(end)), {
    limit: { concurrency: 1 },
  });
  for (let i = 0; i < 5; i++) {
    await storeAsGoQueue(tube, `${stamp(Date.now())}/${i}`, 0, suite.servers.beanstalkds);
  }
  await eventually('all are adopted', async () => isEmpty(system, tube));
  for (let run = 1; run <= 5; run++) {
    await eventually(`run ${run} begins`, () => ends.length >= run);
    expect(ends).toHaveLength(run);
    ends[run - 1]!();
  }
});
