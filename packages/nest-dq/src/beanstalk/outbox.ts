import type { Writable } from 'node:stream';

const SLAB_SIZE = 64 * 1024;
const NO_SLAB = Buffer.alloc(0);

/**
 * Collects what is sent in one tick, so that it leaves in one write.
 * What is ASCII leaves as one text. Other bodies are copied between it into a slab, of which no byte is written twice,
 * so a stream may keep what it was given.
 */
export class Outbox {
  private lines = '';
  private slab = NO_SLAB;
  /** The part of the slab that is collected and not yet sent. */
  private start = 0;
  private end = 0;
  /** The ends of slabs that became full in this tick. */
  private full: Buffer[] = [];

  /** ASCII, with its CRLF. */
  addLine(line: string): void {
    this.lines += line;
  }

  /** A body that begins with the ASCII of `front`. The line before it announces the length of both. */
  addBody(front: string, rest: Uint8Array): void {
    this.lines += front;
    if (rest.length > 0) {
      this.makeRoom(this.lines.length + rest.length);
      this.copyLines();
      this.slab.set(rest, this.end);
      this.end += rest.length;
    }
    this.lines += '\r\n';
  }

  /** One write, unless bodies overflowed a slab; then one writev where the stream has it. */
  sendTo(stream: Writable): void {
    if (this.end === this.start && this.full.length === 0) {
      stream.write(this.lines, 'latin1');
      this.lines = '';
      return;
    }
    this.makeRoom(this.lines.length);
    this.copyLines();
    const last = this.slab.subarray(this.start, this.end);
    this.start = this.end;
    if (this.full.length === 0) {
      stream.write(last);
      return;
    }
    stream.cork();
    for (const chunk of this.full) stream.write(chunk);
    stream.write(last);
    stream.uncork();
    this.full = [];
  }

  private copyLines(): void {
    this.end += this.slab.write(this.lines, this.end, 'latin1');
    this.lines = '';
  }

  private makeRoom(length: number): void {
    if (this.slab.length - this.end >= length) return;
    if (this.end > this.start) this.full.push(this.slab.subarray(this.start, this.end));
    this.slab = Buffer.allocUnsafeSlow(Math.max(SLAB_SIZE, length));
    this.start = 0;
    this.end = 0;
  }
}
