import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { Queue } from 'bullmq';
import { DqTestKit } from 'nest-dq/testing';
import { startRedis, type RedisServer } from 'test-servers';
import { OrderCancel, takeOver } from './from-bullmq.js';

const HOUR = 3_600_000;

let redis: RedisServer;
let queue: Queue<{ id: string }>;
let kit: DqTestKit;

beforeAll(async () => {
  redis = await startRedis();
});

afterAll(async () => {
  await redis.stop();
});

beforeEach(() => {
  queue = new Queue('orders', { connection: { host: redis.host, port: redis.port } });
  kit = new DqTestKit();
});

afterEach(async () => {
  await queue.obliterate({ force: true });
  await queue.close();
  await kit.close();
});

const add = (id: string, delay: number) => queue.add('cancel', { id }, { delay, jobId: `order-${id}` });

it('takes over what waits in BullMQ, each to its due time, and leaves nothing behind', async () => {
  const jobs = [await add('a', HOUR), await add('b', 30 * 24 * HOUR)];
  await takeOver(queue, kit.producer);
  expect(kit.scheduled(OrderCancel)).toMatchObject(
    jobs.map(({ data, timestamp, delay }) => ({
      key: data.id,
      payload: data,
      dueAt: new Date(timestamp + delay),
    })),
  );
  expect(await queue.getDelayedCount()).toBe(0);
});

it('leaves what is due within a minute to the old worker', async () => {
  await add('a', 30_000);
  await takeOver(queue, kit.producer);
  expect(kit.scheduled(OrderCancel)).toEqual([]);
  expect(await queue.getDelayedCount()).toBe(1);
});

it('makes no second job where it was cut short before, nor where a newer one is there', async () => {
  await add('a', HOUR);
  await kit.producer.delay(OrderCancel, { id: 'a' }, '5h', { key: 'a' });
  await takeOver(queue, kit.producer);
  expect(kit.scheduled(OrderCancel)).toMatchObject([
    { key: 'a', dueAt: new Date(kit.now.getTime() + 5 * HOUR) },
  ]);
  expect(await queue.getDelayedCount()).toBe(0);
});
