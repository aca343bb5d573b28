// Answers of a broker to our own requests, and the contents of its log or of a job: a value, or one error.
import { describe, expect } from '@jest/globals';
import fc from 'fast-check';
import { pushOf, storedPush } from 'nest-kq/src/dq/stored-message.js';
import { FlexibleReader, FlexibleWriter } from 'nest-kq/src/driver/kafkajs/flexible.js';
import { readFetched } from 'nest-kq/src/driver/kafkajs/fetch-answers.js';
import { mostUnpacked } from 'nest-kq/src/driver/kafkajs/lz4-frames.js';
import { writeBatch } from 'nest-kq/src/driver/kafkajs/record-batch.js';
import { unpackSnappy } from 'nest-kq/src/driver/kafkajs/snappy-frames.js';
import { Writer } from 'nest-kq/src/driver/kafkajs/writer.js';
import { headersOf, pairsOf } from 'nest-kq/src/driver/message.js';
import { damaged, holds, thrownBy } from './holds.js';

const topic = fc.record({
  topic: fc.option(fc.string({ unit: 'grapheme' })),
  partitions: fc.array(
    fc.record({ partition: fc.integer(), offset: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }) }),
  ),
});
const topics = fc.array(topic, { maxLength: 5 });

function write(all: readonly (typeof topic extends fc.Arbitrary<infer T> ? T : never)[]): Buffer {
  return new FlexibleWriter()
    .tags()
    .list(all, (each, to) =>
      to
        .text(each.topic)
        .list(each.partitions, ({ partition, offset }, within) =>
          within.int32(partition).int64(offset).tags(),
        )
        .tags(),
    )
    .tags().bytes;
}

function read(bytes: Buffer): unknown {
  const from = new FlexibleReader(bytes);
  from.tags();
  const all = from.list(() => {
    const name = from.text();
    const partitions = from.list(() => {
      const each = { partition: from.int32(), offset: from.int64() };
      from.tags();
      return each;
    });
    from.tags();
    return { topic: name, partitions };
  });
  from.tags();
  return all;
}

describe('the reader of answers of brokers', () => {
  holds('reads what was written', topics, (all) => expect(read(write(all))).toEqual(all));

  holds(
    'reads anything, or fails in one way',
    damaged(topics.map((all) => write(all).toString('latin1'))),
    (bytes) => {
      const error = thrownBy(() => read(Buffer.from(bytes, 'latin1')));
      if (error !== undefined) expect(error).toBeInstanceOf(RangeError);
    },
  );
});

const blocks = fc.array(
  fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  { maxLength: 5 },
);
const framed = blocks.map((all) => {
  const sized = all.flatMap((block) => {
    const size = Buffer.alloc(4);
    size.writeInt32BE(block.length);
    return [size, block];
  });
  return Buffer.concat([Buffer.from('\x82SNAPPY\0\0\0\0\x01\0\0\0\x01', 'latin1'), ...sized]).toString(
    'latin1',
  );
});

describe('the reader of frames of snappy', () => {
  holds('takes no more than came, or fails in one way', damaged(framed), async (text) => {
    const data = Buffer.from(text, 'latin1');
    const unpacked = unpackSnappy(data, async (block) => block);
    const size = await unpacked.then(
      ({ length }) => length,
      (error: Error) => error.message,
    );
    if (typeof size === 'number') expect(size).toBeLessThanOrEqual(data.length);
    else expect(size).toMatch(/^the snappy block at byte \d+ is truncated$|^its declared size is \d+ bytes/);
  });
});

describe('the reader of frames of LZ4', () => {
  const frames = fc.tuple(fc.nat({ max: 0xff }), fc.nat({ max: 0xff }), blocks).map(([flags, size, all]) => {
    const sized = all.flatMap((block) => [Buffer.from(new Uint32Array([block.length]).buffer), block]);
    return Buffer.concat([Buffer.from([4, 0x22, 0x4d, 0x18, flags, size, 0]), ...sized]).toString('latin1');
  });

  holds('counts no more for each block than a block can have', damaged(frames), (text) => {
    const most = mostUnpacked(Buffer.from(text, 'latin1'));
    expect(most).toBeGreaterThanOrEqual(0);
    expect(most).toBeLessThanOrEqual(text.length * 2 ** 22);
  });
});

const bytes = fc.uint8Array({ maxLength: 40 }).map((each) => Buffer.from(each));
const message = fc.record(
  {
    key: fc.option(bytes),
    value: fc.option(bytes),
    headers: fc.dictionary(fc.string(), fc.oneof(bytes, fc.array(bytes))),
    partition: fc.nat(),
    timestamp: fc.nat(),
  },
  { requiredKeys: ['key', 'value'] },
);

describe('a message in a job', () => {
  holds('is read as it was written', message, (each) => {
    const stored = JSON.parse(JSON.stringify(storedPush('orders', each))) as ReturnType<typeof storedPush>;
    expect(pushOf(stored)).toEqual(each);
  });
});

const NAMES = Object.getOwnPropertyNames(Object.prototype);
const headers = fc
  .array(fc.tuple(fc.oneof(fc.constantFrom(...NAMES), fc.string({ unit: 'grapheme' })), bytes), {
    maxLength: 6,
  })
  .map(headersOf);
const record = fc.record({
  key: fc.option(bytes),
  value: fc.option(bytes),
  headers,
  timestamp: fc.nat({ max: 2 ** 41 }),
});
/** An answer of a broker, in version 11, with these records in a batch. */
const answers = fc.array(record, { minLength: 1, maxLength: 4 });

async function answerOf(records: readonly (typeof record extends fc.Arbitrary<infer T> ? T : never)[]) {
  const batch = new Writer();
  const producer = { id: -1n, epoch: -1, transactional: false, compression: 0 };
  await writeBatch(batch, records, 0, { ...producer, compress: async (plain) => plain });
  const to = new Writer().int32(0).int16(0).int32(0).int32(1).string('orders').int32(1);
  to.int32(0).int16(0).int64(9n).int64(9n).int64(0n).int32(0).int32(-1).int32(batch.length).raw(batch.bytes);
  return Buffer.from(to.bytes);
}

describe('the reader of messages', () => {
  holds('gives each message as it was written, its headers under any name', answers, async (records) => {
    const { responses } = await readFetched(await answerOf(records), 11);
    const read = responses[0]!.partitions[0]!.messages;
    expect(read.map(({ timestamp }) => Number(timestamp))).toEqual(records.map((each) => each.timestamp));
    for (const [index, { key, value, headers: given }] of records.entries()) {
      expect(read[index]).toMatchObject({ key, value, offset: String(index) });
      expect(pairsOf(read[index]!.headers!)).toEqual(pairsOf(given));
    }
  });

  const written = fc.tuple(answers, fc.nat(), fc.nat({ max: 255 }), fc.nat());
  holds('reads anything, or fails in one way', written, async ([records, at, byte, cut]) => {
    const answer = await answerOf(records);
    answer[at % answer.length] = byte;
    const read = readFetched(answer.subarray(0, cut % 3 === 0 ? cut % answer.length : undefined), 11);
    const failed = await read.then(
      () => undefined,
      (error: unknown) => error,
    );
    if (failed !== undefined) expect(failed).toBeInstanceOf(Error);
  });
});
