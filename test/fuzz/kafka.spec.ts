// What a broker answers to the requests that are ours, and what lies in its log or in a job: a value, or one error.
import { describe, expect } from '@jest/globals';
import fc from 'fast-check';
import { pushOf, storedPush } from 'nest-kq/src/dq/stored-message.js';
import { FlexibleWriter, Reader } from 'nest-kq/src/driver/kafkajs/flexible.js';
import { mostUnpacked } from 'nest-kq/src/driver/kafkajs/lz4-frames.js';
import { unpackSnappy } from 'nest-kq/src/driver/kafkajs/snappy-frames.js';
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
  const from = new Reader(bytes);
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
    else
      expect(size).toMatch(/^a block of snappy at byte \d+ is not whole$|^it says that it holds \d+ bytes/);
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
