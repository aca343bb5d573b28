/** Confluent's wire format: a zero byte, the schema id in four bytes, then the value. */
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

/** Splits off the header; throws `KQ_BAD_MESSAGE` if there is none. */
export function unframe(stored: Buffer): Framed {
  if (stored.length < HEADER_BYTES || stored[0] !== MAGIC)
    throw wrongValue(
      'KQ_BAD_MESSAGE',
      'the stored value',
      stored,
      "a zero byte and a schema id, as written by the serializers of Confluent's Schema Registry",
    );
  return { id: stored.readInt32BE(1), body: stored.subarray(HEADER_BYTES) };
}

/** Encodes the path of a message type in its file: its index at the top level, then its index within that type, and so on. */
export function encodeIndexes(indexes: readonly number[]): Buffer {
  // Nearly always the first type of the file, which takes one byte.
  if (indexes.length === 1 && indexes[0] === 0) return Buffer.from([0]);
  return Buffer.from([indexes.length, ...indexes].flatMap(varint));
}

/** Returns the indexes and what follows them; throws `KQ_BAD_MESSAGE` if there are none. */
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
    throw new KqError('KQ_BAD_MESSAGE', `the stored value has ${show(body)} after its schema id: ${INDEXES}`);
  };
  const count = next();
  if (count < 0 || count > body.length)
    throw wrongValue('KQ_BAD_MESSAGE', 'the count of message indexes', count, `0 to ${body.length}`);
  const indexes = count === 0 ? [0] : Array.from({ length: count }, next);
  return { indexes, rest: body.subarray(at) };
}

const INDEXES = 'expected the indexes of a message type';

/** Zigzag varint encoding. */
function varint(value: number): number[] {
  const bytes: number[] = [];
  let left = value * 2;
  for (; left > 0x7f; left = Math.floor(left / 128)) bytes.push((left % 128) | 0x80);
  return [...bytes, left];
}
