/** Kafka's record batches of version 2. kafkajs' own encoder takes most of the time of a push. */
import { pairsOf, type Headers } from '../message.js';
import { crc32c } from 'nest-handlers/crc32c';
import { sizeOfVarint, Writer } from './writer.js';

/** One message of a batch. */
export interface BatchRecord {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: Headers;
  /** In ms since 1970. */
  readonly timestamp: number;
}

/** The producer of a batch, and its settings. */
export interface BatchProducer {
  readonly id: bigint;
  readonly epoch: number;
  readonly transactional: boolean;
  /** Protocol number. */
  readonly compression: number;
  /** Takes the concatenated records. */
  compress(this: void, records: Buffer): Promise<Buffer>;
}

const MAGIC = 2;
const TRANSACTIONAL = 16;
/** Positions in a batch of its length, which counts what follows it, and of the checksum of what follows it. */
const LENGTH_AT = 8;
const CRC_AT = 17;

/** Writes a batch of at least one record. Rejects like `compress`. */
export async function writeBatch(
  to: Writer,
  records: readonly BatchRecord[],
  firstSequence: number,
  producer: BatchProducer,
): Promise<void> {
  const start = to.length;
  const first = records[0]!.timestamp;
  const attributes = producer.compression | (producer.transactional ? TRANSACTIONAL : 0);
  to.int64(0n)
    .int32(0)
    .int32(0)
    .int8(MAGIC)
    .int32(0)
    .int16(attributes)
    .int32(records.length - 1);
  to.int64(BigInt(first)).int64(BigInt(latest(records)));
  to.int64(producer.id).int16(producer.epoch).int32(firstSequence).int32(records.length);
  if (producer.compression === 0) writeRecords(to, records, first);
  else to.raw(await compressed(records, first, producer));
  to.patchInt32(start + LENGTH_AT, to.length - start - LENGTH_AT - 4);
  to.patchInt32(start + CRC_AT, crc32c(to.bytes, start + CRC_AT + 4, to.bytes.length));
}

async function compressed(
  records: readonly BatchRecord[],
  first: number,
  { compress }: BatchProducer,
): Promise<Buffer> {
  const plain = new Writer();
  writeRecords(plain, records, first);
  return compress(plain.bytes);
}

function writeRecords(to: Writer, records: readonly BatchRecord[], first: number): void {
  for (let offset = 0; offset < records.length; offset++) {
    const { key, value, headers, timestamp } = records[offset]!;
    const flat = flatten(headers);
    const since = timestamp - first;
    to.varint(1 + sizeOfVarint(since) + sizeOfVarint(offset) + sizeOf(key) + sizeOf(value) + sizeOfAll(flat));
    to.int8(0).varint(since).varint(offset);
    write(to, key);
    write(to, value);
    to.varint(flat.length);
    for (const { name, header } of flat) {
      write(to, name);
      write(to, header);
    }
  }
}

interface Header {
  readonly name: Buffer;
  readonly header: Buffer;
}

function flatten(headers: Headers): Header[] {
  return pairsOf(headers).map(([name, header]) => ({ name: Buffer.from(name), header }));
}

function sizeOfAll(headers: readonly Header[]): number {
  let size = sizeOfVarint(headers.length);
  for (const { name, header } of headers) size += sizeOf(name) + sizeOf(header);
  return size;
}

function sizeOf(bytes: Buffer | null): number {
  return bytes === null ? 1 : sizeOfVarint(bytes.length) + bytes.length;
}

function write(to: Writer, bytes: Buffer | null): void {
  if (bytes === null) to.varint(-1);
  else to.varint(bytes.length).raw(bytes);
}

function latest(records: readonly BatchRecord[]): number {
  let time = -Infinity;
  for (const { timestamp } of records) if (timestamp > time) time = timestamp;
  return time;
}
