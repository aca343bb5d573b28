/**
 * Our own parser of fetch responses: kafkajs confuses headers with inherited properties, such as `constructor`, and is quadratic
 * in their number, so that one message of 130 KB blocks a process for a minute.
 */
// @ts-expect-error: kafkajs has no types for its internals
import filterAborted from 'kafkajs/src/consumer/filterAbortedMessages.js';
// @ts-expect-error: kafkajs has no types for its internals
import Decoder from 'kafkajs/src/protocol/decoder.js';
// @ts-expect-error: kafkajs has no types for its internals
import decodeMessageSet from 'kafkajs/src/protocol/messageSet/decoder.js';
import { headersOf, type Headers } from '../message.js';
import { codecs } from './codecs.js';
import { Reader } from './reader.js';

const MessageSetDecoder = Decoder as new (bytes: Buffer) => object;
const messageSetOf = decodeMessageSet as (from: object, size: number) => Promise<FetchedMessage[]>;

/** A message in kafkajs' form. */
export interface FetchedMessage {
  readonly offset: string;
  readonly timestamp: string;
  key: Buffer | null;
  value: Buffer | null;
  /** Absent in message formats before version 2. */
  headers?: Headers | undefined;
  readonly isControlRecord?: boolean;
  readonly batchContext?: BatchContext;
}

/** The part of a partition's response that this client uses. */
export interface FetchedPartition {
  readonly messages: FetchedMessage[];
  readonly abortedTransactions?: readonly { readonly producerId: string; readonly firstOffset: string }[];
  /** Offset after the last complete batch; absent if there is none. */
  readonly next?: bigint;
}

/** Drops messages of aborted transactions, as kafkajs does for a member. */
export const withoutAborted = filterAborted as (
  partition: Pick<FetchedPartition, 'messages' | 'abortedTransactions'>,
) => FetchedMessage[];

interface BatchContext {
  readonly firstOffset: bigint;
  readonly firstTimestamp: bigint;
  /** Append time of the batch; undefined if each message has its own timestamp. */
  readonly appended: bigint | undefined;
  readonly isControlBatch: boolean;
  readonly inTransaction: boolean;
  readonly producerId: string;
}

/** First response version that may contain version 2 batches; older formats have no headers. */
export const WITH_BATCHES = 4;

/** Reads response versions 4 to 11: those kafkajs requests. Rejects with a RangeError, or like a codec. */
export async function readFetched(bytes: Buffer, version: number) {
  const from = new Reader(bytes);
  const throttle = from.int32();
  if (version >= 7) {
    from.int16();
    from.int32();
  }
  const responses = from.array(() => ({
    topicName: from.string(),
    partitions: from.array(() => readPartition(from, version)),
  }));
  const read = responses.map(async ({ topicName, partitions }) => ({
    topicName,
    partitions: await Promise.all(
      partitions.map(async ({ records, ...partition }) => ({
        ...partition,
        ...(await readMessages(records, records.length * 2 < bytes.length)),
      })),
    ),
  }));
  // Since version 8 the client does the waiting.
  const waits =
    version >= 8 ? { throttleTime: 0, clientSideThrottleTime: throttle } : { throttleTime: throttle };
  return { ...waits, responses: await Promise.all(read) };
}

function readPartition(from: Reader, version: number) {
  const partition = from.int32();
  const errorCode = from.int16();
  const highWatermark = String(from.int64());
  const lastStableOffset = String(from.int64());
  if (version >= 5) from.int64();
  const abortedTransactions = from.array(() => ({
    producerId: String(from.int64()),
    firstOffset: String(from.int64()),
  }));
  const preferredReadReplica = version >= 11 ? from.int32() : undefined;
  const size = from.int32();
  const records = from.raw(Math.max(0, size));
  return {
    partition,
    errorCode,
    highWatermark,
    lastStableOffset,
    abortedTransactions,
    ...(preferredReadReplica !== undefined && { preferredReadReplica }),
    records,
  };
}

/** Position of the format version in a batch, and in a message of older formats. */
const MAGIC_AT = 16;
const MAGIC = 2;

/** @param own Copies the bytes of batches: otherwise one retained message would retain the whole response, 10 MiB. */
async function readMessages(
  records: Buffer,
  own: boolean,
): Promise<Pick<FetchedPartition, 'messages' | 'next'>> {
  if (records.length <= MAGIC_AT) return { messages: [] };
  if (records.readInt8(MAGIC_AT) !== MAGIC) {
    const messages = await messageSetOf(new MessageSetDecoder(records), records.length);
    return { messages, ...(messages.length > 0 && { next: BigInt(messages.at(-1)!.offset) + 1n }) };
  }
  const messages: FetchedMessage[] = [];
  const from = new Reader(records);
  let next = 0n;
  while (from.left >= 12) {
    const firstOffset = from.int64();
    const length = from.int32();
    if (length > from.left) break; // truncated by the response limit: comes complete with the next one
    next = await readBatch(firstOffset, from.raw(length), own, messages);
  }
  return { messages, next };
}

/**
 * Mean size of a batch's records above which each record is copied: when few messages fill a process's memory, a
 * retained one must not retain the others.
 */
const LARGE_BYTES = 16_384;

const CODEC = 7;
const LOG_APPEND_TIME = 8;
const TRANSACTIONAL = 16;
const CONTROL = 32;

/** @returns The offset after the batch, whose last messages may have been removed by compaction. */
async function readBatch(
  firstOffset: bigint,
  batch: Buffer,
  own: boolean,
  to: FetchedMessage[],
): Promise<bigint> {
  const from = new Reader(batch);
  from.raw(4 + 1 + 4); // leader epoch, magic, checksum
  const attributes = from.int16();
  const next = firstOffset + BigInt(from.int32()) + 1n;
  const firstTimestamp = from.int64();
  const lastTimestamp = from.int64();
  const producerId = String(from.int64());
  from.raw(2 + 4); // producer epoch, first sequence
  const count = from.int32();
  const context: BatchContext = {
    firstOffset,
    firstTimestamp,
    appended: (attributes & LOG_APPEND_TIME) > 0 ? lastTimestamp : undefined,
    isControlBatch: (attributes & CONTROL) > 0,
    inTransaction: (attributes & TRANSACTIONAL) > 0,
    producerId,
  };
  const packed = from.raw(from.left);
  const codec = codecs[attributes & CODEC]?.();
  const plain = codec ? await codec.decompress(packed) : packed;
  const large = plain.length >= LARGE_BYTES * count;
  const records = new Reader(own && !codec && !large ? Buffer.from(plain) : plain);
  for (let index = 0; index < count; index++) {
    const record = records.raw(records.varint());
    to.push(readRecord(large ? Buffer.from(record) : record, context));
  }
  return next;
}

function readRecord(record: Buffer, batchContext: BatchContext): FetchedMessage {
  const { firstOffset, firstTimestamp, appended, isControlBatch } = batchContext;
  const from = new Reader(record);
  from.int8();
  const timestamp = appended ?? firstTimestamp + BigInt(from.varint());
  const offset = firstOffset + BigInt(from.varint());
  return {
    offset: String(offset),
    timestamp: String(timestamp),
    key: readBytes(from),
    value: readBytes(from),
    headers: headersOf(readHeaders(from)),
    isControlRecord: isControlBatch,
    batchContext,
  };
}

function* readHeaders(from: Reader): Generator<readonly [name: string, value: Buffer | null]> {
  for (let left = from.varint(); left > 0; left--)
    yield [from.utf8(Math.max(0, from.varint())), readBytes(from)];
}

function readBytes(from: Reader): Buffer | null {
  const length = from.varint();
  return length < 0 ? null : from.raw(length);
}
