/** Kafka's flexible encoding: lengths are varints stored plus one, and structures end with tags, of which we write none. */
import { Reader } from './reader.js';
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

export class FlexibleReader extends Reader {
  text(): string | null {
    const length = this.size() - 1;
    return length < 0 ? null : this.utf8(length);
  }

  list<T>(read: () => T): T[] {
    const values: T[] = [];
    for (let left = this.size() - 1; left > 0; left--) values.push(read());
    return values;
  }

  /** Skips the tags. */
  tags(): void {
    for (let left = this.size(); left > 0; left--) {
      this.size();
      this.skip(this.size());
    }
  }

  private size(): number {
    return this.uvarint(5);
  }
}
