import { expect } from '@jest/globals';
import type { Duplex } from 'node:stream';

/** Milliseconds after which a wait ends. A test that passes never needs it. */
const LIMIT = 20_000;

/** A client of a node. It stores what it receives until a test takes it. Texts are Latin-1: one byte for each character. */
export class Peer {
  private received = '';
  hasEnded = false;
  private onNews: () => void = () => undefined;

  constructor(private readonly stream: Duplex) {
    stream.on('data', (chunk: Buffer) => {
      this.received += chunk.toString('latin1');
      this.onNews();
    });
    for (const event of ['end', 'close', 'error']) {
      stream.on(event, () => {
        this.hasEnded = true;
        this.onNews();
      });
    }
  }

  send(bytes: string): void {
    this.stream.write(bytes, 'latin1');
  }

  /** Ends its side of the connection, and still receives. */
  halfClose(): void {
    this.stream.end();
  }

  /** Resolves when the other side, or the operating system, has taken all that was sent. */
  flush(): Promise<void> {
    return new Promise((resolve) => this.stream.write('', () => resolve()));
  }

  /** Cuts the connection. */
  leave(): void {
    this.stream.destroy();
  }

  /** Expects that exactly this comes next. */
  async hears(reply: string): Promise<void> {
    await this.until(() => this.received.length >= reply.length || !reply.startsWith(this.received));
    expect(this.cut(reply.length)).toBe(reply);
  }

  async says(bytes: string, reply: string): Promise<void> {
    this.send(bytes);
    await this.hears(reply);
  }

  /** Expects that the connection ends, and that nothing more comes before. */
  async hearsEnd(): Promise<void> {
    await this.until(() => this.received !== '');
    expect(this.received).toBe('');
    expect(this.hasEnded).toBe(true);
  }

  /** Takes this number of bytes. Takes fewer if no more come. */
  async take(length: number): Promise<string> {
    await this.until(() => this.received.length >= length);
    return this.cut(length);
  }

  /** Takes a line with its LF. Takes a part of it if no more comes. */
  async takeLine(): Promise<string> {
    await this.until(() => this.received.includes('\n'));
    const end = this.received.indexOf('\n');
    return this.cut(end < 0 ? this.received.length : end + 1);
  }

  /** Takes everything that has come. */
  takeReceived(): string {
    return this.cut(this.received.length);
  }

  /** Waits for the end of the connection, and takes everything. */
  async takeAll(): Promise<string> {
    await this.until(() => false);
    return this.cut(this.received.length);
  }

  /** Sends a command that is answered by OK and a text. Resolves with the text. */
  async ask(command: string): Promise<string> {
    this.send(`${command}\r\n`);
    const [, size] = /^OK (\d+)\r\n$/.exec(await this.takeLine()) ?? [];
    return (await this.take(Number(size) + 2)).slice(0, -2);
  }

  /** Resolves when `isSo` is true, the connection has ended, or the limit is over. */
  private async until(isSo: () => boolean): Promise<void> {
    let isOver = false;
    const limit = setTimeout(() => {
      isOver = true;
      this.onNews();
    }, LIMIT);
    while (!isSo() && !this.hasEnded && !isOver) {
      await new Promise<void>((resolve) => {
        this.onNews = resolve;
      });
    }
    clearTimeout(limit);
  }

  private cut(length: number): string {
    const taken = this.received.slice(0, length);
    this.received = this.received.slice(length);
    return taken;
  }
}
