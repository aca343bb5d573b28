// A topic gets more partitions while a process pushes to it.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Kafka, logLevel } from 'kafkajs';
import { KafkajsDriver } from 'nest-kq/src/driver/kafkajs/kafkajs-driver.js';
import { systemClock, type Clock } from 'nest-handlers/time';
import { startKafka, type KafkaServer } from 'test-servers';
import { message, stored } from '../contract/log-facts.js';

const TOPIC = 'orders';
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

async function grow(count: number): Promise<void> {
  const admin = new Kafka({ brokers: [server.endpoint], logLevel: logLevel.NOTHING }).admin();
  await admin.createPartitions({ topicPartitions: [{ topic: TOPIC, count }] });
  await admin.disconnect();
}

it('stores in new partitions: at once where a message asks for one, by its key a minute later', async () => {
  await driver.admin.createTopics([{ topic: TOPIC, partitions: 1 }]);
  const producer = driver.producer();
  stored(await producer.send(TOPIC, [message('a')]));

  await grow(2);
  const asked = await producer.send(TOPIC, [message('b', { partition: 1 })]);
  expect(asked).toEqual([{ partition: 1, offset: 0n }]);

  await grow(8);
  ahead = 61_000;
  const keys = Array.from({ length: 50 }, (_, key) => message('c', { key: Buffer.from(`${key}`) }));
  const sent = stored(await producer.send(TOPIC, keys));
  expect(new Set(sent.map(({ partition }) => partition)).size).toBe(8);
}, 60_000);
