// kafkajs numbers the messages that it sends, so that a broker knows one that comes again. When a request fails, it takes
// the numbers back, also those of messages which are stored: the next ones would pass for repeated, and be lost.
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { Kafka, logLevel } from 'kafkajs';
import type { DriverLog, LogBatch } from 'nest-kq/src/driver/driver.js';
import { KafkajsDriver } from 'nest-kq/src/driver/kafkajs/kafkajs-driver.js';
import { systemClock } from 'nest-handlers/time';
import { eventually, startKafka, type KafkaServer } from 'test-servers';
import { failing, message, stored } from '../contract/log-facts.js';

const NONE: DriverLog = { debug: () => undefined, warn: () => undefined, error: () => undefined };
const TOPIC = 'orders';
const TOO_LARGE = 'x'.repeat(1_100_000);

let server: KafkaServer;
let driver: KafkajsDriver;

beforeAll(async () => {
  server = await startKafka();
}, 60_000);
afterAll(() => server.stop());

beforeEach(async () => {
  driver = new KafkajsDriver({
    brokers: [server.endpoint],
    clock: systemClock,
    log: NONE,
    requestTimeout: 1_000,
  });
});
afterEach(() => driver.close());

async function values(topic: string, count: number): Promise<string[]> {
  const batches: LogBatch[] = [];
  const handler = { rejoining: async () => {}, assigned: () => {}, failed: () => {}, confirmed: () => {} };
  const member = driver.member(
    { group: `reads-${topic}`, topics: [topic], from: 'first' },
    { ...handler, batch: (batch) => void batches.push(batch) },
  );
  await member.start();
  const all = () => batches.flatMap(({ messages }) => messages.map(({ value }) => String(value)));
  await eventually(`${count} messages of ${topic}`, () => all().length >= count);
  await member.stop();
  return all();
}

it('happens with kafkajs: a message is answered, and never stored', async () => {
  await driver.admin.createTopics([{ topic: TOPIC, partitions: 2 }]);
  const kafka = new Kafka({ brokers: [server.endpoint], logLevel: logLevel.NOTHING, retry: { retries: 2 } });
  const producer = kafka.producer({ idempotent: true, retry: { retries: 2 } });
  await producer.connect();
  const send = (...messages: { partition: number; value: string }[]) =>
    producer.send({ topic: TOPIC, messages });
  await expect(send({ partition: 0, value: 'stored' }, { partition: 1, value: TOO_LARGE })).rejects.toThrow(
    'larger than the max message size',
  );
  await expect(send({ partition: 0, value: 'lost' })).resolves.toMatchObject([
    { partition: 0, baseOffset: '0' },
  ]);
  await producer.disconnect();
  await expect(driver.admin.ends(TOPIC)).resolves.toContainEqual({ partition: 0, first: 0n, end: 1n });
  await expect(values(TOPIC, 1)).resolves.toEqual(['stored']);
});

it('does not happen here after a message that was too large among others', async () => {
  const topic = `${TOPIC}.large`;
  await driver.admin.createTopics([{ topic, partitions: 2 }]);
  const producer = driver.producer();
  const sent = await producer.send(topic, [
    message('stored', { partition: 0 }),
    message(TOO_LARGE, { partition: 1 }),
  ]);
  expect(sent).toEqual([{ partition: 0, offset: 0n }, failing('KQ_TOO_LARGE')]);
  await expect(producer.send(topic, [message('next', { partition: 0 })])).resolves.toEqual([
    { partition: 0, offset: 1n },
  ]);
  await expect(values(topic, 2)).resolves.toEqual(['stored', 'next']);
});

it('does not happen here after a request that was given up, and was stored', async () => {
  const topic = `${TOPIC}.frozen`;
  await driver.admin.createTopics([{ topic, partitions: 1 }]);
  const producer = driver.producer({ patience: 1_000 });
  stored(await producer.send(topic, [message('first')]));
  server.freeze();
  const [given] = await producer.send(topic, [message('given up')]);
  server.thaw();
  expect(given).toEqual(failing('KQ_AWAY'));
  expect(given).toMatchObject({ indeterminate: true });
  await eventually('the broker stores what it got', async () => {
    const [partition] = await driver.admin.ends(topic);
    return partition?.end === 2n;
  });
  const sent = await producer.send(topic, [message('next')]);
  expect(sent).toEqual([{ partition: 0, offset: 2n }]);
  await expect(values(topic, 3)).resolves.toEqual(['first', 'given up', 'next']);
});
