/** Reads the primitives of Kafka's responses in sequence. Numbers are big-endian. */

/** Throws a RangeError if the bytes end too early, or a length exceeds anything Kafka writes. */
export class Reader {
  private offset = 0;

  constructor(private readonly bytes: Buffer) {}

  /** Number of unread bytes. */
  get left(): number {
    return this.bytes.length - this.offset;
  }

  int8(): number {
    return this.bytes.readInt8(this.skip(1));
  }

  int16(): number {
    return this.bytes.readInt16BE(this.skip(2));
  }

  int32(): number {
    return this.bytes.readInt32BE(this.skip(4));
  }

  int64(): bigint {
    return this.bytes.readBigInt64BE(this.skip(8));
  }

  /** Inverse of `Writer.varint`; exact up to 52 bits. */
  varint(): number {
    const value = this.uvarint();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  /** Returns a view of the bytes, not a copy. */
  raw(length: number): Buffer {
    const start = this.skip(length);
    return this.bytes.subarray(start, this.offset);
  }

  utf8(length: number): string {
    const start = this.skip(length);
    return this.bytes.toString('utf8', start, this.offset);
  }

  /** Inverse of `Writer.string`. */
  string(): string | null {
    const length = this.int16();
    return length < 0 ? null : this.utf8(length);
  }

  /** Reads a list prefixed with its length in four bytes. */
  array<T>(read: () => T): T[] {
    const values: T[] = [];
    for (let left = this.int32(); left > 0; left--) values.push(read());
    return values;
  }

  /** @param most Max bytes Kafka writes for it. */
  protected uvarint(most = 10): number {
    let value = 0;
    let factor = 1;
    for (let count = 0; count < most; count++, factor *= 128) {
      const byte = this.bytes.readUInt8(this.skip(1));
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
    throw new RangeError(`a length in the response has more than ${most} bytes`);
  }

  protected skip(length: number): number {
    const start = this.offset;
    if (length < 0) throw new RangeError(`a length in the response is ${length}: expected 0 or more`);
    if (length > this.left)
      throw new RangeError(`the response is truncated: expected ${length} more bytes, got ${this.left}`);
    this.offset += length;
    return start;
  }
}
