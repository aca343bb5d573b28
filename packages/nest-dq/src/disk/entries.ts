import { crc32 } from 'node:zlib';
import type { Operations } from './database.js';
import { damaged } from './folder.js';

/** Size of the checksum of a key and its value. It precedes the value. */
const CHECKSUM_BYTES = 4;

/** Offset of a value. */
export const VALUE = CHECKSUM_BYTES;

/** An atomic batch of changes. */
export class DiskBatch {
  /** Size of all entries. */
  bytes = 0;

  constructor(private readonly batch: Operations) {}

  /** `value` has room for the checksum at its start: see `allocate`. */
  put(key: string, value: Buffer): void {
    value.writeUInt32LE(checksum(key, value));
    this.batch.put(key, value);
    this.bytes += key.length + value.length;
  }

  putText(key: string, text: string): void {
    const value = allocate(Buffer.byteLength(text));
    value.write(text, CHECKSUM_BYTES);
    this.put(key, value);
  }

  delete(key: string): void {
    this.batch.del(key);
  }
}

/** Allocates a value of `bytes` bytes, which follow the checksum. */
export function allocate(bytes: number): Buffer {
  return Buffer.allocUnsafe(CHECKSUM_BYTES + bytes);
}

/** Throws `DQ_DISK` if an entry isn't as it was written. */
export function checkValue(dir: string, key: string, value: Buffer): void {
  if (value.length >= CHECKSUM_BYTES && value.readUInt32LE() === checksum(key, value)) return;
  throw damaged(dir, `the entry ${JSON.stringify(key)} is corrupt`);
}

function checksum(key: string, value: Buffer): number {
  return crc32(value.subarray(CHECKSUM_BYTES), crc32(key));
}
