import { describe, expect, it } from '@jest/globals';
// @ts-expect-error: kafkajs has no types for what is inside it
import protocol from 'kafkajs/src/protocol/requests/index.js';
import type { Headers } from '../message.js';
import { loadCodec } from './codec-packages.js';
import { readFetched } from './fetch-answers.js';
import { type BatchRecord, writeBatch } from './record-batch.js';
import { Writer } from './writer.js';

const { Fetch } = (
  protocol as {
    readonly requests: {
      readonly Fetch: {
        protocol(wanted: { readonly version: number }): (request: object) => {
          readonly response: { decode(bytes: Buffer): Promise<Answer> };
        };
      };
    };
  }
).requests;

interface Answer {
  readonly responses: readonly {
    readonly partitions: readonly { readonly messages: readonly Message[]; readonly next?: bigint }[];
  }[];
}

interface Message {
  readonly offset: string;
  readonly value: Buffer | null;
  readonly headers?: Headers;
}

/** Where a batch has the offset of its last message, from its first one on. */
const LAST_OFFSET_DELTA_AT = 23;
const TIME = 1_800_000_000_000;
const record = (value: string | null, over: Partial<BatchRecord> = {}): BatchRecord => ({
  key: null,
  value: value === null ? null : Buffer.from(value),
  headers: {},
  timestamp: TIME,
  ...over,
});

async function batchOf(records: readonly BatchRecord[], transactional = false, gzip = false) {
  const to = new Writer();
  await writeBatch(to, records, 0, {
    id: 7n,
    epoch: 0,
    transactional,
    compression: gzip ? 1 : 0,
    compress: loadCodec('gzip').compress,
  });
  return Buffer.from(to.bytes);
}

/** The answer of a broker to a fetch of this version. */
function answerOf(version: number, ...partitions: readonly Buffer[]): Buffer {
  const to = new Writer().int32(25);
  if (version >= 7) to.int16(0).int32(9);
  to.int32(1).string('orders').int32(partitions.length);
  for (const [partition, records] of partitions.entries()) {
    to.int32(partition).int16(0).int64(120n).int64(110n);
    if (version >= 5) to.int64(3n);
    to.int32(1).int64(7n).int64(100n);
    if (version >= 11) to.int32(-1);
    to.int32(records.length).raw(records);
  }
  return Buffer.from(to.bytes);
}

async function messagesOf(records: Buffer): Promise<readonly Message[]> {
  const answer = (await readFetched(answerOf(11, records), 11)) as Answer;
  return answer.responses[0]!.partitions[0]!.messages;
}

describe('an answer with messages', () => {
  it.each([4, 5, 6, 7, 8, 9, 10, 11])('of version %i is read as kafkajs reads it', async (version) => {
    const headers = { one: Buffer.from('1'), two: [Buffer.from('a'), Buffer.from('b')] };
    const whole = Buffer.concat([
      await batchOf([record('a', { key: Buffer.from('k') }), record(null, { timestamp: TIME - 70_000 })]),
      await batchOf([record('c', { headers })], true, true),
    ]);
    const cut = whole.subarray(0, whole.length - 1);
    const answer = answerOf(version, whole, cut, Buffer.alloc(0));
    const read = (await readFetched(answer, version)) as Answer;
    const theirs = await Fetch.protocol({ version })({ topics: [] }).response.decode(answer);
    expect(read.responses[0]!.partitions.map(({ messages }) => messages.length)).toEqual([3, 2, 0]);
    expect(comparable(read)).toEqual(comparable(theirs));
  });

  it('continues after the last whole batch, even where compaction has removed its last messages', async () => {
    const batch = await batchOf([record('a'), record('b')]);
    const compacted = Buffer.from(batch);
    compacted.writeInt32BE(9, LAST_OFFSET_DELTA_AT);
    const cut = Buffer.concat([batch, compacted.subarray(0, compacted.length - 1)]);
    const read = (await readFetched(answerOf(11, batch, compacted, cut, Buffer.alloc(0)), 11)) as Answer;
    expect(read.responses[0]!.partitions.map(({ next }) => next)).toEqual([2n, 10n, 2n, undefined]);
  });

  it('gives each header that a message has, whatever objects inherit, and no other', async () => {
    for (const name of Object.getOwnPropertyNames(Object.prototype)) {
      const [message] = await messagesOf(await batchOf([record('v', { headers: only(name, ['1', '2']) })]));
      expect(Object.entries(message!.headers!)).toEqual([[name, [Buffer.from('1'), Buffer.from('2')]]]);
      const [without] = await messagesOf(await batchOf([record('v')]));
      expect(without!.headers![name]).toBeUndefined();
    }
  });

  it('needs time by the number of headers, not by its square', async () => {
    const headers = Object.fromEntries(Array.from({ length: 60_000 }, (_, n) => [`h${n}`, Buffer.from('x')]));
    const same = { h: Array.from({ length: 60_000 }, () => Buffer.from('x')) };
    const [many, one] = await messagesOf(
      await batchOf([record('v', { headers }), record('v', { headers: same })]),
    );
    expect(Object.keys(many!.headers!)).toHaveLength(60_000);
    expect(one!.headers!['h']).toHaveLength(60_000);
  });

  it.each([false, true])('lets a large message keep nothing but its own bytes (gzip: %s)', async (gzip) => {
    const large = 'x'.repeat(100_000);
    const batch = await batchOf([record(large), record(large), record(large)], false, gzip);
    const messages = await messagesOf(batch);
    expect(messages.map(({ value }) => String(value))).toEqual([large, large, large]);
    for (const { value } of messages) expect(value!.buffer.byteLength).toBeLessThan(large.length + 100);
  });

  it('lets a small message keep its batch at most, and nothing of other partitions', async () => {
    const small = await batchOf(Array.from({ length: 100 }, () => record('x'.repeat(100))));
    const other = await batchOf(Array.from({ length: 1_000 }, () => record('x'.repeat(100))));
    const read = (await readFetched(answerOf(11, Buffer.concat([small, small]), other), 11)) as Answer;
    const { value } = read.responses[0]!.partitions[0]!.messages[0]!;
    expect(value!.buffer.byteLength).toBeLessThan(small.length);
  });

  it('gives all messages of a batch that has more than one call takes arguments', async () => {
    const records = Array.from({ length: 200_000 }, () => record(null));
    const messages = await messagesOf(await batchOf(records, false, true));
    expect(messages).toHaveLength(200_000);
    expect(messages.at(-1)!.offset).toBe('199999');
  });
});

function only(name: string, values: readonly string[]): Headers {
  return Object.fromEntries([[name, values.map((each) => Buffer.from(each))]]);
}

/** All that kafkajs makes use of. */
function comparable(answer: object): unknown {
  return JSON.parse(
    JSON.stringify(answer, (name, value: unknown) => {
      if (['attributes', 'magicByte', 'lastStartOffset', 'errorCode', 'sessionId', 'next'].includes(name))
        return undefined;
      if (name !== 'batchContext') return value;
      const { inTransaction, producerId, isControlBatch } = value as Record<string, unknown>;
      return { inTransaction, producerId, isControlBatch };
    }),
  );
}
