// Everything a message carries besides its value, from a push to handlers and dead letters: in the process and on a real broker.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ConsoleLogger, Injectable } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import {
  DEAD_LETTER_HEADERS,
  Discard,
  KqModule,
  KqPusher,
  TopicHandler,
  defineTopic,
  type KqMessage,
} from 'nest-kq';
import { KafkajsDriver } from 'nest-kq/src/driver/kafkajs/kafkajs-driver.js';
import { systemClock } from 'nest-handlers/time';
import { eventually, startKafka, type KafkaServer } from 'test-servers';

const LIMIT = 120_000;
const BYTES = Buffer.from([0x00, 0x80, 0xff]);
/** Long ago, but not so long that a broker forgets it while the test runs. */
const TIME = Date.now() - 3_600_000;
const silent = { debug: () => undefined, warn: () => undefined, error: () => undefined };

interface Customer {
  readonly name: string;
}

const schema: StandardSchemaV1<unknown, Customer> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) => {
      const named = typeof value === 'object' && value !== null && 'name' in value;
      return named ? { value: value as Customer } : { issues: [{ message: 'it has no name' }] };
    },
  },
};
const Customers = defineTopic('customers', { schema });
const Files = defineTopic('files', { format: 'bytes' });

interface Seen {
  readonly value: unknown;
  readonly message: KqMessage;
}

@Injectable()
class Handlers {
  readonly single: Seen[] = [];
  readonly batches: Seen[][] = [];
  readonly dead: Seen[] = [];

  @TopicHandler([Customers, Files])
  handle(value: unknown, message: KqMessage): void {
    this.single.push({ value, message });
  }

  @TopicHandler('batched', { batch: { size: 3, within: '50ms' } })
  handleMany(values: unknown[], messages: KqMessage[]): void {
    this.batches.push(values.map((value, index) => ({ value, message: messages[index]! })));
  }

  @TopicHandler('refused', { deadLetter: 'refused.dead' })
  refuse(): Discard {
    return Discard.because('a test wants it');
  }

  @TopicHandler('refused.dead')
  letter(value: unknown, message: KqMessage): void {
    this.dead.push({ value, message });
  }
}

let server: KafkaServer;
beforeAll(async () => {
  server = await startKafka();
  const driver = new KafkajsDriver({ brokers: [server.endpoint], clock: systemClock, log: silent });
  const topics = ['customers', 'files', 'batched', 'refused', 'refused.dead'];
  await driver.admin.createTopics(topics.map((topic) => ({ topic, partitions: 1 })));
  await driver.close();
}, LIMIT);
afterAll(() => server.stop(), LIMIT);

describe.each([
  ['in the process', () => 'memory' as const],
  ['on a real broker', () => [server.endpoint]],
])('a message %s', (_where, brokers) => {
  let app: TestingModule;
  let handlers: Handlers;
  let pusher: KqPusher;
  beforeEach(async () => {
    const logger = new ConsoleLogger('Kq', { logLevels: [] });
    app = await Test.createTestingModule({
      imports: [KqModule.forRoot({ brokers: brokers(), group: 'shop', commitEvery: 0, logger })],
      providers: [Handlers],
    }).compile();
    await app.init();
    handlers = app.get(Handlers);
    pusher = app.get(KqPusher);
  }, LIMIT);
  afterEach(() => app.close(), LIMIT);

  it(
    'may be a tombstone, which no schema and no format refuses',
    async () => {
      await pusher.push(Customers, { name: 'Ann' }, { key: 'ann' });
      await pusher.push(Customers, null, { key: 'ann' });
      await pusher.push(Files, Buffer.alloc(0), { key: 'empty' });
      await pusher.push(Files, null, { key: 'gone' });
      await eventually('all are handled', () => handlers.single.length === 4);
      const of = (topic: string) =>
        handlers.single
          .filter(({ message }) => message.topic === topic)
          .map(({ value, message }) => [message.key, value, message.value]);
      const ann = { name: 'Ann' };
      expect(of('customers')).toEqual([
        ['ann', ann, ann],
        ['ann', null, null],
      ]);
      const empty = Buffer.alloc(0);
      expect(of('files')).toEqual(
        expect.arrayContaining([
          ['empty', empty, empty],
          ['gone', null, null],
        ]),
      );
    },
    LIMIT,
  );

  it(
    'keeps headers of strings, of bytes and of several values, and its own time',
    async () => {
      const headers = { text: 'größer', bytes: BYTES, several: ['a', BYTES, 'a'], empty: '', one: ['1'] };
      await pusher.push(Files, BYTES, { key: BYTES, headers, timestamp: TIME });
      await eventually('it is handled', () => handlers.single.length === 1);
      const [{ value, message }] = handlers.single as [Seen];
      expect(value).toEqual(BYTES);
      expect(message.keyBytes).toEqual(BYTES);
      expect(message.timestamp).toBe(TIME);
      expect(message.headers).toEqual({
        text: Buffer.from('größer'),
        bytes: BYTES,
        several: [Buffer.from('a'), BYTES, Buffer.from('a')],
        empty: Buffer.alloc(0),
        one: Buffer.from('1'),
      });
      const texts = ['text', 'several', 'empty', 'none'].map((name) => message.header(name));
      expect(texts).toEqual(['größer', 'a', '', undefined]);
    },
    LIMIT,
  );

  it(
    'is the same in a batch, and as one of many',
    async () => {
      const results = await pusher.pushMany('batched', [
        { value: { nr: 1 }, key: 'k', headers: { several: ['a', 'b'] }, timestamp: TIME },
        { value: null, key: 'k', headers: { text: 'gone' }, timestamp: TIME + 1 },
      ]);
      expect(results.map(({ error }) => error)).toEqual([undefined, undefined]);
      await eventually('both are handled', () => handlers.batches.flat().length === 2);
      const seen = handlers.batches.flat().map(({ value, message }) => {
        return [value, message.value, message.timestamp, message.headers];
      });
      expect(seen).toEqual([
        [{ nr: 1 }, { nr: 1 }, TIME, { several: [Buffer.from('a'), Buffer.from('b')] }],
        [null, null, TIME + 1, { text: Buffer.from('gone') }],
      ]);
    },
    LIMIT,
  );

  it(
    'keeps all of it as a dead letter, which says its time in a header',
    async () => {
      await pusher.push('refused', null, { key: 'k', headers: { several: ['a', BYTES] }, timestamp: TIME });
      await eventually('its letter comes', () => handlers.dead.length === 1);
      const [{ value, message }] = handlers.dead as [Seen];
      expect([value, message.key]).toEqual([null, 'k']);
      expect(message.headers).toMatchObject({ several: [Buffer.from('a'), BYTES] });
      expect(message.header(DEAD_LETTER_HEADERS.timestamp)).toBe(String(TIME));
      expect(message.header(DEAD_LETTER_HEADERS.why)).toBe('discarded');
      expect(message.timestamp).toBeGreaterThan(TIME);
    },
    LIMIT,
  );
});
