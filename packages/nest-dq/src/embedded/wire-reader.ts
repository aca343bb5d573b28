/** The longest command line with its CRLF; "pause-tube", a name of 200 bytes and ten digits just fit. */
const LINE_LIMIT = 224;
const CR = 13;
const LF = 10;

export const TOO_LONG = Symbol('a line over 224 bytes');

/**
 * Lines and bodies out of bytes that arrive in any split. Texts are latin1, one character a byte: a body is kept
 * that way too, for a text needs less memory than a Buffer of its own, and unlike a slice it does not keep the chunk
 * alive in which it came.
 */
export class WireReader {
  private head: Buffer = Buffer.alloc(0);
  private offset = 0;
  private tail: Buffer[] = [];
  private discarding = false;
  /** Bytes that have arrived and were not read yet. */
  length = 0;

  append(chunk: Buffer): void {
    if (this.length === 0) {
      this.head = chunk;
      this.offset = 0;
    } else {
      this.tail.push(chunk);
    }
    this.length += chunk.length;
  }

  /**
   * The next line without its CRLF, or nothing while it is incomplete. As in beanstalkd, bytes are looked at 224 at
   * a time: what has no CRLF among them is thrown away, up to and with the next CRLF that is found, for one TOO_LONG.
   * Only the first CR of the 224 counts, so a CR within a line makes that line too long.
   */
  readLine(): string | typeof TOO_LONG | undefined {
    for (;;) {
      const end = this.lineEnd();
      if (end >= 0) {
        const line = this.head.toString('latin1', this.offset, end);
        this.advance(end + 2 - this.offset);
        if (!this.discarding) return line;
        this.discarding = false;
        return TOO_LONG;
      }
      if (this.length < LINE_LIMIT) return undefined;
      this.discarding = true;
      this.advance(LINE_LIMIT);
    }
  }

  /** So many bytes, which must have arrived: see `length`. */
  read(count: number): string {
    if (this.head.length - this.offset < count) this.join();
    const bytes = this.head.toString('latin1', this.offset, this.offset + count);
    this.advance(count);
    return bytes;
  }

  /** Throws away up to so many bytes, and says how many. */
  skip(count: number): number {
    const skipped = Math.min(count, this.length);
    if (this.head.length - this.offset < skipped) this.join();
    this.advance(skipped);
    return skipped;
  }

  /** Where in `head` the next CRLF is, or -1. */
  private lineEnd(): number {
    if (this.tail.length > 0 && this.head.length - this.offset < LINE_LIMIT) this.join();
    const { head, offset } = this;
    const last = Math.min(head.length, offset + LINE_LIMIT) - 1;
    for (let at = offset; at < last; at++) {
      if (head[at] === CR) return head[at + 1] === LF ? at : -1;
    }
    return -1;
  }

  private join(): void {
    this.head = Buffer.concat([this.head.subarray(this.offset), ...this.tail]);
    this.offset = 0;
    this.tail = [];
  }

  private advance(count: number): void {
    this.offset += count;
    this.length -= count;
  }
}
