import type { Writable } from 'node:stream';

/**
 * The body of a job, in parts that follow each other. A text is latin1, a character a byte, so that its length is its size: it
 * goes to the socket as it is, which costs less than a Buffer.
 */
export type Body = readonly (string | Uint8Array)[];

/** Bytes. */
export function sizeOf(body: Body): number {
  let size = 0;
  for (const part of body) size += part.length;
  return size;
}

const SLAB_SIZE = 64 * 1024;
const NO_SLAB = Buffer.alloc(0);

/**
 * Collects what is sent in one tick, so that it leaves in one write.
 * Texts leave as one text. Bytes are copied between it into a slab. No byte of a slab is written twice, so a stream may
 * keep what it was given.
 */
export class Outbox {
  private text = '';
  private slab = NO_SLAB;
  /** The part of the slab that is collected and not yet sent. */
  private start = 0;
  private end = 0;
  /** The ends of slabs that became full in this tick. */
  private full: Buffer[] = [];

  /** A command, with its CRLF, and the body that it announces. */
  add(line: string, body: Body | undefined): void {
    this.text += line;
    if (body === undefined) return;
    for (const part of body) {
      if (typeof part === 'string') this.text += part;
      else if (part.length > 0) this.addBytes(part);
    }
    this.text += '\r\n';
  }

  /** One write. Where bytes overflowed a slab: one writev, if the stream has it. */
  sendTo(stream: Writable): void {
    if (this.end === this.start && this.full.length === 0) {
      stream.write(this.text, 'latin1');
      this.text = '';
      return;
    }
    this.makeRoom(this.text.length);
    this.copyText();
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

  private addBytes(bytes: Uint8Array): void {
    this.makeRoom(this.text.length + bytes.length);
    this.copyText();
    this.slab.set(bytes, this.end);
    this.end += bytes.length;
  }

  private copyText(): void {
    this.end += this.slab.write(this.text, this.end, 'latin1');
    this.text = '';
  }

  private makeRoom(length: number): void {
    if (this.slab.length - this.end >= length) return;
    if (this.end > this.start) this.full.push(this.slab.subarray(this.start, this.end));
    this.slab = Buffer.allocUnsafeSlow(Math.max(SLAB_SIZE, length));
    this.start = 0;
    this.end = 0;
  }
}
