// Dead letters on a real broker: processes that die in the middle of a replay, and topics that forget.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Kafka, logLevel } from 'kafkajs';
import { systemClock } from 'nest-handlers/time';
import { LogDeadLetters } from 'nest-kq/src/dead-letters/log-dead-letters.js';
import { KafkajsDriver } from 'nest-kq/src/driver/kafkajs/kafkajs-driver.js';
import { startKafka, type KafkaServer } from 'test-servers';
import { stored } from '../contract/log-facts.js';
import { startProgram } from '../support/program.js';

const LIMIT = 120_000;
/** Letters that one record resolves at most. */
const AT_ONCE = 500;
const silent = { debug: () => undefined, warn: () => undefined, error: () => undefined };

let server: KafkaServer;
let driver: KafkajsDriver;
let letters: LogDeadLetters;
beforeAll(async () => {
  server = await startKafka();
  driver = new KafkajsDriver({ brokers: [server.endpoint], clock: systemClock, log: silent });
  letters = new LogDeadLetters(driver.admin, driver.producer(), () => undefined);
}, LIMIT);
afterAll(async () => {
  await driver.close();
  await server.stop();
}, LIMIT);

/** Letters of `orders`, whose values are their numbers. */
function lettersOf(count: number, partition = 0) {
  return Array.from({ length: count }, (_, number) => ({
    partition,
    key: Buffer.from(`k${number}`),
    value: Buffer.from(String(number)),
    headers: { 'kq-topic': Buffer.from('orders'), 'kq-group': Buffer.from('shop') },
  }));
}

async function valuesIn(topic: string): Promise<number[]> {
  const values: number[] = [];
  for (const { partition, first, end } of await driver.admin.ends(topic))
    for (let next = first; next < end;) {
      const read = await driver.admin.readFrom(topic, partition, next, 1_000_000);
      values.push(...read.messages.map(({ value }) => Number(value)));
      next = read.next;
    }
  return values;
}

it(
  'loses no letter where processes are killed during a replay, and repeats at most what was in flight',
  async () => {
    const count = 4_000;
    const topic = 'orders.dead';
    await driver.admin.createTopics([
      { topic, partitions: 2 },
      { topic: 'orders', partitions: 2 },
    ]);
    stored(await driver.producer().send(topic, [...lettersOf(count), ...lettersOf(count, 1)]));
    const kills = [
      { killedIn: 'orders', after: 3 }, // stored again, and not resolved
      { killedIn: topic, after: 2 },
    ];
    for (const kill of kills) {
      const said: string[] = [];
      const argument = JSON.stringify({ brokers: [server.endpoint], topic, ...kill });
      const { ended } = startProgram('support/replaying-process.mjs', argument, (line) => said.push(line));
      expect(await ended).toEqual([null, 'SIGKILL']);
      expect(said).toEqual([]);
    }
    const left = await letters.replay(topic, {}, { dryRun: true });
    expect(left.count).toBe(2 * count - 4 * AT_ONCE); // two records of each process
    expect(await letters.replay(topic, {})).toMatchObject({ count: left.count, failed: 0 });
    expect(await letters.list(topic)).toEqual({ letters: [] });
    const values = await valuesIn('orders');
    const times = Array.from({ length: count }, () => 0);
    for (const value of values) times[value]!++;
    expect(times.filter((each) => each < 2)).toEqual([]); // once from each partition
    expect(values.length - 2 * count).toBe(AT_ONCE);
  },
  LIMIT,
);

it(
  'continues with the letters that a topic still has, since it forgets them before what resolves them',
  async () => {
    const topic = 'forgetful.dead';
    await driver.admin.createTopics([{ topic, partitions: 1 }]);
    stored(await driver.producer().send(topic, lettersOf(10)));
    await letters.discard(topic, { partition: 0, offset: 7 });
    const page = await letters.list(topic, { limit: 4 });
    const admin = new Kafka({ brokers: [server.endpoint], logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
    await admin.fetchTopicOffsets(topic); // loads its leaders, which kafkajs expects
    await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '3' }] });
    await admin.disconnect();
    expect(page.letters.map(({ offset }) => offset)).toEqual(['9', '8', '6', '5']);
    const next = await letters.list(topic, { cursor: page.cursor! });
    expect(next.letters.map(({ offset }) => offset)).toEqual(['4', '3']);
    expect(next.cursor).toBeUndefined();
    expect(await letters.get(topic, { partition: 0, offset: 2 })).toBeUndefined();
    expect(await letters.discard(topic, {})).toMatchObject({ count: 6 });
    expect(await letters.list(topic)).toEqual({ letters: [] });
  },
  LIMIT,
);

it(
  'resolves letters of a topic that is compacted',
  async () => {
    const topic = 'compacted.dead';
    await driver.admin.createTopics([{ topic, partitions: 1, config: { 'cleanup.policy': 'compact' } }]);
    stored(await driver.producer().send(topic, lettersOf(3)));
    expect(await letters.discard(topic, { key: 'k1' })).toMatchObject({ count: 1 });
    expect((await letters.list(topic)).letters.map(({ key }) => key)).toEqual(['k2', 'k0']);
  },
  LIMIT,
);
