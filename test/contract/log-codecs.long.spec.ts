// Compression, checked against Java's code: a broker decompresses and recompresses where its topic wants another codec.
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { batchCodec, codecs } from 'nest-kq/src/driver/kafkajs/codecs.js';
import { KafkajsDriver } from 'nest-kq/src/driver/kafkajs/kafkajs-driver.js';
import type { OutgoingMessage } from 'nest-kq/src/driver/message.js';
import { systemClock } from 'nest-handlers/time';
import { eventually, startKafka, type KafkaServer } from 'test-servers';
import { failing, MemberUnderTest, message, stored } from './log-facts.js';

const NONE = { debug: () => undefined, warn: () => undefined, error: () => undefined };
const COMPRESSIONS = [
  { compression: 'gzip', type: 1 },
  { compression: 'snappy', type: 2 },
  { compression: 'lz4', type: 3 },
  { compression: 'zstd', type: 4 },
] as const;
/** Among them one that takes many blocks in every format, and one that cannot be made smaller. */
const MESSAGES: readonly OutgoingMessage[] = [
  message('first', { key: Buffer.from('k'), headers: { trace: Buffer.from('1') } }),
  message('a long one, '.repeat(40_000)),
  { key: Buffer.from('k'), value: null },
  ...Array.from({ length: 500 }, (_, index) => message(`order ${index}`)),
  { key: null, value: Buffer.from(Array.from({ length: 50_000 }, (_, index) => (index * index * 31) >> 7)) },
];
/** Larger than the broker's limit, so that it is stored only if it is compressed. */
const HUGE = message('x'.repeat(2_000_000));

let server: KafkaServer;
let driver: KafkajsDriver;
const members: MemberUnderTest[] = [];

beforeAll(async () => {
  server = await startKafka();
  driver = new KafkajsDriver({ brokers: [server.endpoint], clock: systemClock, log: NONE });
}, 60_000);
afterEach(async () => {
  for (const member of members.splice(0)) await member.stop();
});
afterAll(async () => {
  await driver.close();
  await server.stop();
});

async function topicOf(name: string, config: Record<string, string> = {}): Promise<string> {
  await driver.admin.createTopics([{ topic: name, partitions: 1, config }]);
  return name;
}

async function join(topic: string): Promise<MemberUnderTest> {
  const member = new MemberUnderTest(driver, {
    group: `reads.${topic}`,
    topics: [topic],
    from: 'first',
    heartbeatInterval: 100,
  });
  members.push(member);
  await member.start();
  return member;
}

async function hasThemAll(member: MemberUnderTest): Promise<void> {
  const read = await member.receives(MESSAGES.length);
  expect(read.map(({ offset }) => offset)).toEqual(MESSAGES.map((_, index) => BigInt(index)));
  for (const [index, { key, value, headers = {} }] of MESSAGES.entries())
    expect(read[index]).toMatchObject({ key, value, headers });
}

/** As if the packages were not there. */
async function without<T>(type: number, act: () => Promise<T>): Promise<T> {
  const lookup = codecs[type]!;
  codecs[type] = () =>
    batchCodec('snappy', (name) => {
      throw Object.assign(new Error(`Cannot find module '${name}'`), { code: 'MODULE_NOT_FOUND' });
    });
  try {
    return await act();
  } finally {
    codecs[type] = lookup;
  }
}

describe.each(COMPRESSIONS)('$compression', ({ compression, type }) => {
  it('reads what it has written, and stores it compressed', async () => {
    const topic = await topicOf(`own.${compression}`);
    const producer = driver.producer({ compression });
    stored(await producer.send(topic, MESSAGES));
    await hasThemAll(await join(topic));
    stored(await producer.send(topic, [HUGE]));
  });

  it('writes what Java reads', async () => {
    const topic = await topicOf(`unpacked.${compression}`, { 'compression.type': 'uncompressed' });
    stored(await driver.producer({ compression }).send(topic, MESSAGES));
    await without(type, async () => hasThemAll(await join(topic)));
  });

  it('reads what Java has written, and skips nothing while it cannot', async () => {
    const topic = await topicOf(`packed.${compression}`, { 'compression.type': compression });
    stored(await driver.producer().send(topic, MESSAGES));
    const member = await without(type, async () => {
      const waiting = await join(topic);
      // A broker that has just begun does not know its groups for a while.
      const others = () => waiting.failures.filter(({ code }) => code !== 'KQ_AWAY');
      await eventually('it cannot read them', () => others().length > 0);
      expect(others()[0]).toEqual(failing('KQ_CODEC'));
      expect(waiting.batches).toEqual([]);
      return waiting;
    });
    await hasThemAll(member);
  });
});

it('refuses a producer where the package is missing', async () => {
  await without(2, async () => {
    expect(() => driver.producer({ compression: 'snappy' })).toThrow(
      'KQ_CODEC: messages compressed with snappy need the package snappy, which is not installed; npm install snappy',
    );
  });
});
