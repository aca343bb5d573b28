// Headers that any producer may store reach the handler as they are, and nothing of them stops a group: on a real broker.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import kafkajs, { type Cluster } from 'kafkajs';
import { KqModule, KqPusher, TopicHandler, type KqMessage } from 'nest-kq';
import { eachCluster } from 'nest-kq/src/driver/kafkajs/cluster-brokers.js';
import { crc32c } from 'nest-handlers/crc32c';
import { KafkajsDriver } from 'nest-kq/src/driver/kafkajs/kafkajs-driver.js';
import { Writer } from 'nest-kq/src/driver/kafkajs/writer.js';
import { systemClock } from 'nest-handlers/time';
import { eventually, startKafka, type KafkaServer } from 'test-servers';
import { confluentDriver, noteNotBuilt } from '../contract/log-harness.js';

const LIMIT = 120_000;
const INHERITED = Object.getOwnPropertyNames(Object.prototype);
const bytes = (text: string) => Buffer.from(text);
const silent = { debug: () => undefined, warn: () => undefined, error: () => undefined };

@Injectable()
class Handlers {
  readonly odd: KqMessage[] = [];
  readonly others: unknown[] = [];

  @TopicHandler('odd')
  handle(_value: unknown, message: KqMessage): void {
    this.odd.push(message);
  }

  @TopicHandler('others')
  handleOther(value: unknown): void {
    this.others.push(value);
  }
}

const DRIVERS = [
  ['kafkajs', undefined],
  ["Confluent's client", confluentDriver],
] as const;

describe.each(DRIVERS)('a group that reads by %s', (name, driver) => {
  if (name !== 'kafkajs' && !driver) {
    return noteNotBuilt();
  }
  let server: KafkaServer;
  let app: TestingModule;
  let handlers: Handlers;

  beforeAll(async () => {
    server = await startKafka();
    const admin = new KafkajsDriver({ brokers: [server.endpoint], clock: systemClock, log: silent });
    await admin.admin.createTopics([
      { topic: 'odd', partitions: 1 },
      { topic: 'others', partitions: 1 },
    ]);
    await admin.close();
  }, LIMIT);
  afterAll(() => server.stop());
  beforeEach(async () => {
    app = await Test.createTestingModule({
      imports: [
        KqModule.forRoot({
          brokers: [server.endpoint],
          ...(driver && { driver }),
          group: 'headers',
        }),
      ],
      providers: [Handlers],
    }).compile();
    app.useLogger(false);
    await app.init();
    handlers = app.get(Handlers);
  }, LIMIT);
  afterEach(() => app.close(), LIMIT);

  it(
    'handles messages whose headers have names that objects inherit, and all after them',
    async () => {
      const pusher = app.get(KqPusher);
      const headers = Object.fromEntries(INHERITED.map((each) => [each, ['1', Buffer.from([0xff])]]));
      await pusher.push('odd', 'all', { headers });
      for (const each of INHERITED)
        await pusher.push('odd', each, { headers: Object.fromEntries([[each, '1']]) });
      await pusher.push('odd', 'none');
      await pusher.push('others', 'behind');
      await eventually('all are handled', () => {
        return handlers.odd.length === INHERITED.length + 2 && handlers.others.length === 1;
      });
      const [all, ...rest] = handlers.odd;
      const none = rest.pop()!;
      for (const each of INHERITED) {
        expect(all!.headers[each]).toEqual([bytes('1'), Buffer.from([0xff])]);
        expect(none.headers[each]).toBeUndefined();
        expect(none.header(each)).toBeUndefined();
      }
      expect(rest.map((message) => Object.entries(message.headers))).toEqual(
        INHERITED.map((each) => [[each, bytes('1')]]),
      );
    },
    LIMIT,
  );

  it(
    'handles messages whose headers have no value, are no UTF-8, have no name, or are very many',
    async () => {
      const many = Array.from({ length: 60_000 }, (_, n): RawHeader => [bytes(`h${n}`), bytes('x')]);
      await storeRaw(server.endpoint, 'odd', [
        [bytes('none'), null],
        [bytes('twice'), null],
        [bytes('twice'), bytes('2')],
      ]);
      await storeRaw(server.endpoint, 'odd', [[Buffer.from([0x61, 0xff]), Buffer.from([0xfe, 0xff])]]);
      await storeRaw(server.endpoint, 'odd', [[bytes(''), bytes('unnamed')]]);
      await storeRaw(server.endpoint, 'odd', [[bytes('large'), Buffer.alloc(900_000, 7)]]);
      await storeRaw(server.endpoint, 'odd', many);
      await app.get(KqPusher).push('others', 'behind');
      await eventually('all are handled', () => {
        return handlers.odd.length >= 5 && handlers.others.length >= 1;
      });
      const [missing, foreign, unnamed, large, crowd] = handlers.odd.slice(-5);
      expect(missing!.headers).toEqual({ none: bytes(''), twice: [bytes(''), bytes('2')] });
      expect(foreign!.headers).toEqual({ 'a\ufffd': Buffer.from([0xfe, 0xff]) });
      expect(unnamed!.headers).toEqual({ '': bytes('unnamed') });
      expect((large!.headers['large'] as Buffer).equals(Buffer.alloc(900_000, 7))).toBe(true);
      expect(Object.keys(crowd!.headers)).toHaveLength(60_000);
    },
    LIMIT,
  );
});

type RawHeader = readonly [name: Buffer, value: Buffer | null];

interface RawBroker {
  readonly connectionPool: { send(call: object): Promise<{ readonly errorCode: number }> };
}

/** Stores a message with these headers, which no producer of ours writes. */
async function storeRaw(endpoint: string, topic: string, headers: readonly RawHeader[]): Promise<void> {
  const kafka = new kafkajs.Kafka({ brokers: [endpoint], logLevel: kafkajs.logLevel.NOTHING });
  let cluster!: Cluster;
  eachCluster(kafka, (made) => (cluster = made));
  const producer = kafka.producer();
  await producer.connect();
  await cluster.refreshMetadata();
  try {
    const broker = (await cluster.findControllerBroker()) as unknown as RawBroker;
    const batch = rawBatch(headers);
    const body = new Writer().string(null).int16(-1).int32(10_000).int32(1).string(topic).int32(1);
    body.int32(0).int32(batch.length).raw(batch);
    const { bytes: buffer } = body;
    const answer = await broker.connectionPool.send({
      request: {
        apiKey: 0,
        apiVersion: 3,
        apiName: 'Produce',
        encode: async () => ({ buf: buffer, buffer }),
      },
      response: {
        // One topic, one partition: its error stands behind their names.
        decode: async (from: Buffer) => ({ errorCode: from.readInt16BE(4 + 2 + topic.length + 4 + 4) }),
        parse: (read: unknown) => read,
      },
    });
    expect(answer).toEqual({ errorCode: 0 });
  } finally {
    await producer.disconnect();
  }
}

function rawBatch(headers: readonly RawHeader[]): Buffer {
  const record = new Writer().int8(0).varint(0).varint(0).varint(-1).varint(1).raw(bytes('1'));
  record.varint(headers.length);
  for (const [name, value] of headers) {
    record.varint(name.length).raw(name);
    if (value === null) record.varint(-1);
    else record.varint(value.length).raw(value);
  }
  const checked = new Writer().int16(0).int32(0).int64(BigInt(Date.now())).int64(BigInt(Date.now()));
  checked.int64(-1n).int16(-1).int32(-1).int32(1).varint(record.length).raw(record.bytes);
  const rest = new Writer()
    .int32(0)
    .int8(2)
    .int32(crc32c(checked.bytes, 0, checked.bytes.length))
    .raw(checked.bytes);
  return new Writer().int64(0n).int32(rest.length).raw(rest.bytes).bytes;
}
