// Completed jobs that are kept with `keepDone`, as people look for them later.
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { Redis } from 'ioredis';
import { DelayedHandler, DqModule, DqProducer, type DelayedJob, type DqOptions } from 'nest-dq';
import { DqInspector } from 'nest-dq/operate';
import { eventually } from 'test-servers';
import { isEmpty } from '../support/jobs.js';
import { clusterSuite } from '../support/suite.js';
import type { System } from '../support/system.js';

const suite = clusterSuite();
const KEEP = { keepDone: { for: '7d', max: 10_000 } } as const;
const PROCESS = `${hostname()}:${process.pid}`;

const isDone = (system: System, ref: Parameters<System['producer']['find']>[0]) => async () =>
  (await system.producer.find(ref))?.state === 'done';

async function run(system: System, tube: string, payload: unknown, key?: string) {
  const receipt = await system.producer.now(tube, payload, key === undefined ? {} : { key });
  await eventually('it is done', isDone(system, receipt));
  return receipt;
}

/** As the ledger forgets a job some minutes after its copies are gone. */
async function forget(system: System, tube: string, ...ids: string[]): Promise<void> {
  await eventually('no copy is left', () => isEmpty(system, tube));
  await withRedis((redis) => redis.del(...ids.map((id) => `{${tube}}:${id}`)));
}

async function withRedis<T>(work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(suite.servers.redis.url);
  try {
    return await work(redis);
  } finally {
    redis.disconnect();
  }
}

it('answer whether a job ran, after the ledger has forgotten it', async () => {
  const tube = 'order.cancel';
  const system = suite.start({ repair: false });
  const before = Date.now();
  await system.consumer.consume(
    tube,
    async (_payload, { attempt }: DelayedJob) => {
      if (attempt === 1) throw new Error('not yet');
      return { cancelled: true };
    },
    { ...KEEP, backoff: () => 0 },
  );
  const { id } = await run(system, tube, 42, 'order-42');
  const { jobs, cursor } = await system.inspector.finished(tube, { from: new Date(before - 1_000) });
  const kept = {
    id,
    key: 'order-42',
    tube,
    endedAt: expect.any(Date),
    took: expect.any(Number),
    process: PROCESS,
    attempt: 2,
    result: { cancelled: true },
  };
  expect([jobs, cursor]).toEqual([[kept], undefined]);
  await forget(system, tube, id);

  for (const filter of [{ key: 'order-42' }, { id }])
    await expect(system.inspector.finished(tube, filter)).resolves.toEqual({ jobs: [kept] });
  await expect(system.inspector.finished(tube, { key: 'order-43' })).resolves.toEqual({ jobs: [] });
  const found = await system.inspector.explain({ tube, key: 'order-42' });
  expect(found).toMatchObject({ because: 'done', state: 'done', id, attempt: 2, finished: kept });
  expect(found.why).toMatch(new RegExp(`^Completed at 2\\S+Z in process ${PROCESS}, attempt 2, took .+\\.$`));
  await expect(system.producer.find({ tube, key: 'order-42' })).resolves.toBeUndefined();
});

it('are searched by key and by id, and the job that is there now comes first', async () => {
  const tube = 'searched';
  const system = suite.start(KEEP);
  await system.consumer.consume(tube, () => undefined);
  const { id } = await run(system, tube, 1, 'order-7');
  const plain = await run(system, tube, 2);
  await forget(system, tube, id, plain.id);
  await expect(system.inspector.finished(tube)).resolves.toMatchObject({
    jobs: [{ id: plain.id }, { id, key: 'order-7' }],
  });
  const ended = { state: 'done', endedAt: expect.any(Date) };
  const search = async (text: string) =>
    (await system.inspector.search(text)).jobs.filter((job) => job.tube === tube);
  await expect(search('order-7')).resolves.toEqual([{ tube, id, key: 'order-7', ...ended }]);
  await expect(search(id)).resolves.toEqual([{ tube, id, key: 'order-7', ...ended }]);
  await expect(search(plain.id)).resolves.toEqual([{ tube, id: plain.id, ...ended }]);
  const receipt = await system.producer.delay(tube, 3, '1h', { key: 'order-7' });
  await expect(search('order-7')).resolves.toMatchObject([{ id, state: 'waiting' }]);
  await expect(system.inspector.explain(receipt)).resolves.toMatchObject({
    because: 'not-due',
    state: 'waiting',
  });
  expect(await system.inspector.explain(receipt)).not.toHaveProperty('finished');
  // As long as it waits, the entry is that of its predecessor.
  await expect(system.inspector.finished(tube, { key: 'order-7' })).resolves.toMatchObject({
    jobs: [{ id }],
  });
});

it('cost nothing unless the option is there: no key in Redis', async () => {
  const system = suite.start(KEEP);
  await system.consumer.consume('not-kept', () => 1, { keepDone: false });
  const off = suite.start();
  await off.consumer.consume('off', () => 1);
  await run(system, 'not-kept', 1);
  await run(off, 'off', 1);
  const keys = await withRedis((redis) => redis.keys('*'));
  expect(keys.filter((key) => /::(finished|ends)$/.test(key) && /not-kept|off/.test(key))).toEqual([]);
  await expect(off.inspector.finished('off')).resolves.toEqual({ jobs: [] });
});

it('are only those of the processes that keep them', async () => {
  const tube = 'both';
  const [keeps, doesNot] = [suite.start(KEEP), suite.start()];
  const keeping = await keeps.consumer.consume(tube, () => 1);
  const { id } = await run(keeps, tube, 1);
  await keeping.stop();
  await doesNot.consumer.consume(tube, () => 1);
  await run(doesNot, tube, 2);
  expect((await doesNot.inspector.finished(tube)).jobs.map((job) => job.id)).toEqual([id]);
});

it('have neither key nor result in a cluster that encrypts its jobs', async () => {
  const tube = 'sealed';
  const seal = { keys: { a: randomBytes(32) }, current: 'a' };
  const system = suite.start({ ...KEEP, seal });
  await system.consumer.consume(tube, () => ({ secret: 'tea' }));
  const { id } = await run(system, tube, 1, 'order-9');
  const expected = { id, tube, endedAt: expect.any(Date), took: expect.any(Number), process: PROCESS };
  await expect(system.inspector.finished(tube, { key: 'order-9' })).resolves.toEqual({
    jobs: [{ ...expected, attempt: 1 }],
  });
  const [entry] = Object.values(await withRedis((redis) => redis.hgetall(`{${tube}}::ends`)));
  expect(entry).not.toMatch(/order-9|tea/);

  const signed = suite.start({ ...KEEP, seal: { ...seal, encrypt: false } });
  await signed.consumer.consume('signed', () => ({ plain: true }));
  await run(signed, 'signed', 1, 'order-9');
  await expect(signed.inspector.finished('signed')).resolves.toMatchObject({
    jobs: [{ key: 'order-9', result: { plain: true } }],
  });
});

it('have no result that is unwanted or long, and say so', async () => {
  const system = suite.start(KEEP);
  await system.consumer.consume('long', () => 'x'.repeat(1_001));
  await system.consumer.consume('unwanted', () => 'x', { keepDone: { result: false } });
  await run(system, 'long', 1);
  await run(system, 'unwanted', 1);
  const [long] = (await system.inspector.finished('long')).jobs;
  expect(long).toMatchObject({ resultLeftOut: 'too long' });
  const [unwanted] = (await system.inspector.finished('unwanted')).jobs;
  for (const name of ['result', 'resultLeftOut']) expect(unwanted).not.toHaveProperty(name);
});

it('fail no completion: not even if another program wrote their keys', async () => {
  const tube = 'foreign';
  const system = suite.start(KEEP);
  await withRedis((redis) => redis.set(`{${tube}}::finished`, 'theirs'));
  let runs = 0;
  await system.consumer.consume(tube, () => void runs++);
  await run(system, tube, 1);
  await run(system, tube, 2);
  expect(runs).toBe(2);
  await expect(system.inspector.finished(tube)).rejects.toMatchObject({ code: 'DQ_LEDGER_DOWN' });
  const noise = 'noise';
  await system.consumer.consume(noise, () => 1);
  const { id } = await run(system, noise, 1);
  await withRedis(async (redis) => {
    for (const [i, text] of ['', 'no JSON', '[1,2]', '[1e999,1,"x",null]', '{}', 'x'.repeat(3e6)].entries()) {
      await redis.zadd(`{${noise}}::finished`, Date.now() + i, `theirs${i}`);
      await redis.hset(`{${noise}}::ends`, `theirs${i}`, text);
    }
    await redis.zadd(`{${noise}}::finished`, '+inf', 'theirs', 0.5, 'half');
  });
  expect((await system.inspector.finished(noise)).jobs.map((job) => job.id)).toEqual([id]);
});

it('refuse a wrong filter with its value and what was expected', async () => {
  const { inspector } = suite.start();
  for (const [filter, message] of [
    [{ limit: 0 }, '`limit` is 0: expected 1 to 1000'],
    [{ cursor: 'x' }, '`cursor` is "x": expected the `cursor` of the previous page'],
    [{ key: 'a', id: 'b' }, 'the filter has `key` and `id`: expected one of them'],
    [{ key: '' }, '`key` is "": expected a string of 1 to 500 characters'],
    [{ since: 1 }, '"since" in the filter: expected one of from, to, key, id, cursor, limit'],
  ] as const)
    await expect(inspector.finished('t', filter as object)).rejects.toThrow(message);
});

it('stay on the disk of an embedded node', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'nest-dq-finished-'));
  class Handlers {
    @DelayedHandler('work', { keepDone: { max: 3 } })
    work(payload: unknown): unknown {
      return payload;
    }
  }
  const start = async (options: DqOptions) => {
    const imports = [DqModule.forRoot({ embedded: { dir }, ...options })];
    const app = await Test.createTestingModule({ imports, providers: [Handlers] }).compile();
    return app.init();
  };
  try {
    const first = await start({});
    for (let i = 1; i <= 5; i++) {
      const receipt = await first.get(DqProducer).now('work', i);
      const find = () => first.get(DqProducer).find(receipt);
      await eventually('it is done', async () => (await find())?.state === 'done');
    }
    await first.close();
    const second = await start({ consume: false });
    const { jobs } = await second.get(DqInspector).finished('work');
    expect(jobs.map(({ result }) => result)).toEqual([5, 4, 3]);
    await second.close();
  } finally {
    await rm(dir, { recursive: true });
  }
}, 60_000);
