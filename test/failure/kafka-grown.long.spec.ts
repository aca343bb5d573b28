// A topic gets more partitions while a process pushes to it.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Kafka, logLevel } from 'kafkajs';
import { KafkajsDriver } from 'nest-kq/src/driver/kafkajs/kafkajs-driver.js';
import { systemClock, type Clock } from 'nest-handlers/time';
import { eventually, startKafka, type KafkaServer } from 'test-servers';
import type { PartitionOffset } from 'nest-kq/src/driver/message.js';
import { MemberUnderTest, message, stored } from '../contract/log-facts.js';

const silent = { debug: () => undefined, warn: () => undefined, error: () => undefined };

let server: KafkaServer;
let driver: KafkajsDriver;
/** How far the driver's clock is ahead. */
let ahead = 0;
beforeAll(async () => {
  server = await startKafka();
  const clock: Clock = Object.assign(Object.create(systemClock) as Clock, {
    now: () => systemClock.now() + ahead,
  });
  driver = new KafkajsDriver({ brokers: [server.endpoint], clock, log: silent });
}, 60_000);
afterAll(async () => {
  await driver.close();
  await server.stop();
}, 60_000);

async function grow(topic: string, count: number): Promise<void> {
  const admin = new Kafka({ brokers: [server.endpoint], logLevel: logLevel.NOTHING }).admin();
  await admin.createPartitions({ topicPartitions: [{ topic, count }] });
  await eventually('the broker knows it, too', async () => {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
    return topics[0]?.partitions.length === count;
  });
  await admin.disconnect();
}

it('stores in new partitions: at once where a message asks for one, by its key once the topic was looked at again', async () => {
  await driver.admin.createTopics([{ topic: 'orders', partitions: 1 }]);
  const producer = driver.producer();
  stored(await producer.send('orders', [message('a')]));

  await grow('orders', 2);
  const asked = await producer.send('orders', [message('b', { partition: 1 })]);
  expect(asked).toEqual([{ partition: 1, offset: 0n }]);

  await grow('orders', 8);
  ahead += 61_000;
  await eventually('all partitions are used', async () => {
    return partitionsOf(stored(await producer.send('orders', KEYS))) === 8;
  });
}, 60_000);

it('stores in new partitions within a transaction, too', async () => {
  await driver.admin.createTopics([{ topic: 'results', partitions: 1 }]);
  const producer = driver.producer({ transactionalId: 'shop' });
  const first = await producer.transaction();
  await first.send('results', [message('a')]);

  await grow('results', 2);
  const asked = await first.send('results', [message('b', { partition: 1 })]);
  expect(asked).toEqual([{ partition: 1, offset: 0n }]);
  await first.commit();

  await grow('results', 8);
  ahead += 61_000;
  const second = await producer.transaction();
  let sent = 2;
  await eventually('all partitions are used', async () => {
    sent += KEYS.length;
    return partitionsOf(await second.send('results', KEYS)) === 8;
  });
  await second.commit();
  const reader = new MemberUnderTest(driver, { group: 'reader', topics: ['results'], from: 'first' });
  await reader.start();
  await reader.receives(sent);
  await reader.stop();
}, 60_000);

const KEYS = Array.from({ length: 50 }, (_, key) => message('c', { key: Buffer.from(`${key}`) }));

function partitionsOf(sent: readonly PartitionOffset[]): number {
  return new Set(sent.map(({ partition }) => partition)).size;
}
