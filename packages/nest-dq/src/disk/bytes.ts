/** Reads the primitives of LevelDB's files one after the other. Throws a RangeError at the end. */
export class Bytes {
  private at = 0;

  constructor(private readonly bytes: Buffer) {}

  get left(): number {
    return this.bytes.length - this.at;
  }

  take(length: number): Buffer {
    if (length > this.left) throw new RangeError(`expected ${length} more bytes, got ${this.left}`);
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  /** Exact up to 53 bits. */
  varint(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.take(1)[0]!;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
  }

  /** Bytes preceded by their length. */
  text(): Buffer {
    return this.take(this.varint());
  }
}
