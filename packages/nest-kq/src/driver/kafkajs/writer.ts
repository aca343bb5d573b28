/** Writes the primitives of Kafka's requests in sequence, into a growing buffer. Numbers are big-endian. */
export class Writer {
  private buffer: Buffer;
  private offset = 0;

  /** @param room Initial size in bytes. */
  constructor(room = 256) {
    this.buffer = Buffer.allocUnsafe(room);
  }

  /** The bytes written so far; later writes may change them. */
  get bytes(): Buffer {
    return this.buffer.subarray(0, this.offset);
  }

  get length(): number {
    return this.offset;
  }

  int8(value: number): this {
    const at = this.take(1);
    this.buffer.writeInt8(value, at);
    return this;
  }

  int16(value: number): this {
    const at = this.take(2);
    this.buffer.writeInt16BE(value, at);
    return this;
  }

  int32(value: number): this {
    const at = this.take(4);
    this.buffer.writeInt32BE(value, at);
    return this;
  }

  int64(value: bigint): this {
    const at = this.take(8);
    this.buffer.writeBigInt64BE(value, at);
    return this;
  }

  /** Shorter for values near zero. @param value An integer of at most 52 bits. */
  varint(value: number): this {
    return this.uvarint(value < 0 ? -2 * value - 1 : 2 * value);
  }

  /** Shorter for small values. @param value A non-negative integer of at most 53 bits. */
  uvarint(value: number): this {
    let at = this.take(MAX_VARINT_BYTES);
    let left = value;
    for (; left > 0x7f_ff_ff_ff; left = Math.floor(left / 128)) this.buffer[at++] = (left & 0x7f) | 0x80;
    for (; left > 0x7f; left >>>= 7) this.buffer[at++] = (left & 0x7f) | 0x80;
    this.buffer[at++] = left;
    this.offset = at;
    return this;
  }

  raw(bytes: Buffer): this {
    const at = this.take(bytes.length);
    bytes.copy(this.buffer, at);
    return this;
  }

  /** Writes a string prefixed with its length in two bytes; -1 for null. */
  string(value: string | null): this {
    if (value === null) return this.int16(-1);
    const bytes = Buffer.from(value);
    return this.int16(bytes.length).raw(bytes);
  }

  /** Overwrites four existing bytes. */
  patchInt32(at: number, value: number): void {
    this.buffer.writeInt32BE(value, at);
  }

  /** Reserves bytes and counts them as written. */
  private take(length: number): number {
    const at = this.offset;
    this.offset += length;
    if (this.offset > this.buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(this.offset, 2 * this.buffer.length));
      this.buffer.copy(larger, 0, 0, at);
      this.buffer = larger;
    }
    return at;
  }
}

/** Max bytes of a 53-bit number. */
const MAX_VARINT_BYTES = 8;

/** Returns the number of bytes `varint` writes. */
export function sizeOfVarint(value: number): number {
  let size = 1;
  for (let left = value < 0 ? -2 * value - 1 : 2 * value; left > 0x7f; left = Math.floor(left / 128)) size++;
  return size;
}
