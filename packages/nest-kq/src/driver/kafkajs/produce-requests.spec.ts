import { describe, expect, it } from '@jest/globals';
// @ts-expect-error: kafkajs has no types for what is inside it
import Decoder from 'kafkajs/src/protocol/decoder.js';
// @ts-expect-error: kafkajs has no types for what is inside it
import decode from 'kafkajs/src/protocol/recordBatch/v0/decoder.js';
// @ts-expect-error: kafkajs has no types for what is inside it
import protocol from 'kafkajs/src/protocol/requests/index.js';
import { produceBody, type Produced } from './produce-requests.js';
import type { BatchRecord } from './record-batch.js';

/** The produce protocol of kafkajs. */
const { Produce } = (
  protocol as {
    readonly requests: {
      readonly Produce: {
        protocol(wanted: { readonly version: number }): (request: object) => {
          readonly request: { encode(): Promise<{ readonly buffer: Buffer }> };
        };
      };
    };
  }
).requests;
const decodeBatch = decode as (decoder: object) => Promise<{
  readonly maxTimestamp: string;
  readonly records: readonly { readonly timestamp: string }[];
}>;
const DecoderOf = Decoder as new (bytes: Buffer) => object;

/** A generator of numbers that is the same each time. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function produced(messages: readonly (readonly BatchRecord[])[], more: Partial<Produced> = {}): Produced {
  return {
    acks: -1,
    timeout: 30_000,
    compression: 0,
    producerId: '4611686018427387905',
    producerEpoch: 7,
    topicData: [
      {
        topic: 'orders.für-später',
        partitions: messages.map((each, partition) => ({
          partition,
          firstSequence: partition * 1_000 + 3,
          messages: each,
        })),
      },
    ],
    ...more,
  };
}

/** As kafkajs writes it. */
async function byKafkajs(request: Produced): Promise<Buffer> {
  const { request: made } = Produce.protocol({ version: 7 })(request);
  return (await made.encode()).buffer;
}

function someRecord(next: (below: number) => number, timestamp: number): BatchRecord {
  const bytes = (most: number) => Buffer.from(Array.from({ length: next(most) }, () => next(256)));
  const headers = Object.fromEntries(
    Array.from({ length: next(3) }, (_, at) => {
      return [`name-${at}-ü`, next(2) ? bytes(200) : [bytes(10), bytes(10)]] as const;
    }),
  );
  return { key: next(3) ? bytes(70) : null, value: next(5) ? bytes(400) : null, headers, timestamp };
}

describe('a request that stores messages', () => {
  it.each([1, 2, 3, 4, 5])('has the bytes that kafkajs writes (%i)', async (seed) => {
    const next = numbers(seed);
    let time = 1_790_000_000_000;
    const record = () => someRecord(next, (time += next(3) ? next(2_000) : 2 ** 33));
    const partition = () => Array.from({ length: 1 + next(300) }, record);
    const request = produced([partition(), partition(), [record()]]);
    expect((await produceBody(request)).buffer.equals(await byKafkajs(request))).toBe(true);
  });

  it('belongs to a transaction', async () => {
    const message = { key: null, value: Buffer.from('{}'), headers: {}, timestamp: 1 };
    const request = produced([[message]], { transactionalId: 'tx-1' });
    expect((await produceBody(request)).buffer).toEqual(await byKafkajs(request));
  });

  it('is compressed', async () => {
    const message = { key: null, value: Buffer.alloc(5_000, 'a'), headers: {}, timestamp: 1 };
    const request = produced([[message, message]], { compression: 1 });
    const { buffer } = await produceBody(request);
    expect(buffer).toEqual(await byKafkajs(request));
    expect(buffer.length).toBeLessThan(1_000);
  });

  it('may have messages that are older than the first', async () => {
    const at = (timestamp: number) => ({ key: null, value: Buffer.from('x'), headers: {}, timestamp });
    const { buffer } = await produceBody(produced([[at(5_000), at(4_999), at(9_000), at(0)]]));

    const decoder = new DecoderOf(buffer.subarray(buffer.indexOf(Buffer.from('später')) + 7 + 4 + 4 + 4));
    const { records, maxTimestamp } = await decodeBatch(decoder);
    expect(records.map(({ timestamp }) => timestamp)).toEqual(['5000', '4999', '9000', '0']);
    expect(maxTimestamp).toBe('9000');
  });
});
