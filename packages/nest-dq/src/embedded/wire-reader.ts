/** Length of the longest command line with its CRLF; "pause-tube", a name of 200 bytes and ten digits just fit. */
const LINE_LIMIT_BYTES = 224;
const CR = 13;
const LF = 10;
const EMPTY = Buffer.alloc(0);

export const TOO_LONG = Symbol('a line over 224 bytes');

/**
 * Reads lines and bodies from bytes that arrive split in any way. Strings are latin1, one character per byte, and bodies are kept
 * that way too: a string needs less memory than a separate Buffer, and unlike a slice it doesn't keep the chunk alive in which it
 * arrived.
 */
export class WireReader {
  /** Unread bytes: those of `bytes` from `start` to `end`. */
  private bytes: Buffer = EMPTY;
  private start = 0;
  private end = 0;
  private discarding = false;

  /** Number of unread bytes. */
  get length(): number {
    return this.end - this.start;
  }

  /** Size of the allocated memory, in bytes. */
  get size(): number {
    return this.bytes.length;
  }

  /** Frees the memory of what was read, if nothing else is left. */
  trim(): void {
    if (this.start < this.end) return;
    this.bytes = EMPTY;
    this.start = this.end = 0;
  }

  /** A chunk appended to an empty reader is used as it is; it must not be changed afterwards. */
  append(chunk: Buffer): void {
    const { length } = this;
    if (length === 0) {
      this.bytes = chunk;
      this.start = 0;
      this.end = chunk.length;
      return;
    }
    // Twice the current length, so that any number of small chunks is copied only a few times, without an allocation for each.
    if (this.end + chunk.length > this.bytes.length)
      this.moveTo(Buffer.allocUnsafe(2 * length + chunk.length));
    chunk.copy(this.bytes, this.end);
    this.end += chunk.length;
  }

  /**
   * The next line without its CRLF, or undefined while it is incomplete. As in beanstalkd, 224 bytes are examined at a time:
   * without a CRLF among them they are discarded, up to and including the next CRLF, for one TOO_LONG. Only the first CR of the
   * 224 counts, so a CR within a line makes that line too long.
   */
  readLine(): string | typeof TOO_LONG | undefined {
    for (;;) {
      const at = this.lineEnd();
      if (at >= 0) {
        const line = this.bytes.toString('latin1', this.start, at);
        this.start = at + 2;
        if (!this.discarding) return line;
        this.discarding = false;
        return TOO_LONG;
      }
      if (this.length < LINE_LIMIT_BYTES) return undefined;
      this.discarding = true;
      this.start += LINE_LIMIT_BYTES * Math.max(1, Math.floor(this.beforeCR() / LINE_LIMIT_BYTES));
    }
  }

  /** Reads `count` bytes, which must have arrived: see `length`. */
  read(count: number): string {
    const { start } = this;
    this.start += count;
    return this.bytes.toString('latin1', start, this.start);
  }

  /** Skips at most `count` bytes, and returns how many. */
  skip(count: number): number {
    const skipped = Math.min(count, this.length);
    this.start += skipped;
    return skipped;
  }

  /** Index of the next CRLF in `bytes`, or -1. */
  private lineEnd(): number {
    const { bytes, start } = this;
    const last = Math.min(this.end, start + LINE_LIMIT_BYTES) - 1;
    for (let at = start; at < last; at++) {
      if (bytes[at] === CR) return bytes[at + 1] === LF ? at : -1;
    }
    return -1;
  }

  /** Number of bytes before the next CR. */
  private beforeCR(): number {
    const at = this.bytes.subarray(this.start, this.end).indexOf(CR);
    return at < 0 ? this.length : at;
  }

  private moveTo(room: Buffer): void {
    this.bytes.copy(room, 0, this.start, this.end);
    this.end = this.length;
    this.start = 0;
    this.bytes = room;
  }
}
