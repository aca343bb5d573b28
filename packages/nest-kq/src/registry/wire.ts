/** Confluent's wire format: a zero byte, the id of the schema in four bytes, then the value. */
import { KqError, show, wrongValue } from '../errors.js';

const MAGIC = 0;
const HEADER_BYTES = 5;

export interface Framed {
  readonly id: number;
  readonly body: Buffer;
}

export function frame(id: number, ...body: readonly Uint8Array[]): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeInt8(MAGIC, 0);
  header.writeInt32BE(id, 1);
  return Buffer.concat([header, ...body]);
}

/** `KQ_BAD_MESSAGE`: it has no such header. */
export function unframe(stored: Buffer): Framed {
  if (stored.length < HEADER_BYTES || stored[0] !== MAGIC)
    throw wrongValue(
      'KQ_BAD_MESSAGE',
      'the stored value',
      stored,
      "a zero byte and the id of a schema, as the serializers of Confluent's Schema Registry write them",
    );
  return { id: stored.readInt32BE(1), body: stored.subarray(HEADER_BYTES) };
}

/** Where a message type is in its file: its place among the types there, then among those in that one, and so on. */
export function encodeIndexes(indexes: readonly number[]): Buffer {
  // The first type of the file is nearly always it, and has one byte.
  if (indexes.length === 1 && indexes[0] === 0) return Buffer.from([0]);
  return Buffer.from([indexes.length, ...indexes].flatMap(varint));
}

/** The indexes, and what follows them. `KQ_BAD_MESSAGE`: there are none. */
export function decodeIndexes(body: Buffer): { indexes: readonly number[]; rest: Buffer } {
  let at = 0;
  const next = (): number => {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = body[at++];
      if (byte === undefined) break;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
    }
    throw new KqError(
      'KQ_BAD_MESSAGE',
      `the stored value has ${show(body)} after the id of its schema: ${INDEXES}`,
    );
  };
  const count = next();
  if (count < 0 || count > body.length)
    throw wrongValue('KQ_BAD_MESSAGE', 'the count of message indexes', count, `0 to ${body.length}`);
  const indexes = count === 0 ? [0] : Array.from({ length: count }, next);
  return { indexes, rest: body.subarray(at) };
}

const INDEXES = 'expected the indexes of a message type';

/** Zigzag, in groups of seven bits. */
function varint(value: number): number[] {
  const bytes: number[] = [];
  let left = value * 2;
  for (; left > 0x7f; left = Math.floor(left / 128)) bytes.push((left % 128) | 0x80);
  return [...bytes, left];
}
