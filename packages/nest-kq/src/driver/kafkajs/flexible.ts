/** Kafka's flexible encoding: lengths are variable and one more than they say, and structures end with tags, of which there are none. */
import { Writer } from './writer.js';

export class FlexibleWriter extends Writer {
  text(value: string | null): this {
    if (value === null) return this.uvarint(0);
    const bytes = Buffer.from(value);
    return this.uvarint(bytes.length + 1).raw(bytes);
  }

  list<T>(values: readonly T[], write: (value: T, to: this) => unknown): this {
    this.uvarint(values.length + 1);
    for (const value of values) write(value, this);
    return this;
  }

  tags(): this {
    return this.uvarint(0);
  }
}

/** Throws a RangeError where the bytes end too early, or a length is longer than Kafka makes any. */
export class Reader {
  private offset = 0;

  constructor(private readonly bytes: Buffer) {}

  int16(): number {
    return this.bytes.readInt16BE(this.skip(2));
  }

  int32(): number {
    return this.bytes.readInt32BE(this.skip(4));
  }

  int64(): bigint {
    return this.bytes.readBigInt64BE(this.skip(8));
  }

  text(): string | null {
    const length = this.size() - 1;
    if (length < 0) return null;
    const start = this.skip(length);
    return this.bytes.toString('utf8', start, this.offset);
  }

  list<T>(read: () => T): T[] {
    const values: T[] = [];
    for (let left = this.size() - 1; left > 0; left--) values.push(read());
    return values;
  }

  /** Leaves them out. */
  tags(): void {
    for (let left = this.size(); left > 0; left--) {
      this.size();
      this.skip(this.size());
    }
  }

  private size(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      if (shift > 28) throw new RangeError('a length in the answer has more than 5 bytes');
      const byte = this.bytes.readUInt8(this.skip(1));
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
  }

  private skip(length: number): number {
    const start = this.offset;
    const left = this.bytes.length - start;
    if (length > left)
      throw new RangeError(`the answer ends too early: expected ${length} bytes more, got ${left}`);
    this.offset += length;
    return start;
  }
}
