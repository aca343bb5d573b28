import { expect } from '@jest/globals';
import type { Duplex } from 'node:stream';

/** Milliseconds after which what did not come will not come: only a safety net. */
const LIMIT = 20_000;

/** A client of a node, who keeps what it receives until it is asked. Texts are latin1, a character a byte. */
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

  /** Sends nothing more, yet listens. */
  halfClose(): void {
    this.stream.end();
  }

  /** Resolves once the other side, or its system, has all that was sent. */
  flush(): Promise<void> {
    return new Promise((resolve) => this.stream.write('', () => resolve()));
  }

  /** Cuts the connection. */
  leave(): void {
    this.stream.destroy();
  }

  /** What comes next is exactly this. */
  async hears(reply: string): Promise<void> {
    await this.until(() => this.received.length >= reply.length || !reply.startsWith(this.received));
    expect(this.cut(reply.length)).toBe(reply);
  }

  async says(bytes: string, reply: string): Promise<void> {
    this.send(bytes);
    await this.hears(reply);
  }

  /** Nothing more comes before the end. */
  async hearsEnd(): Promise<void> {
    await this.until(() => this.received !== '');
    expect(this.received).toBe('');
    expect(this.hasEnded).toBe(true);
  }

  /** Takes a number of bytes; fewer only if no more come. */
  async take(length: number): Promise<string> {
    await this.until(() => this.received.length >= length);
    return this.cut(length);
  }

  /** Takes a line with its LF; less only if no more comes. */
  async takeLine(): Promise<string> {
    await this.until(() => this.received.includes('\n'));
    const end = this.received.indexOf('\n');
    return this.cut(end < 0 ? this.received.length : end + 1);
  }

  /** Takes what has come. */
  takeReceived(): string {
    return this.cut(this.received.length);
  }

  /** Takes all up to the end of the connection. */
  async takeAll(): Promise<string> {
    await this.until(() => false);
    return this.cut(this.received.length);
  }

  /** The text that a command is answered by, after OK. */
  async ask(command: string): Promise<string> {
    this.send(`${command}\r\n`);
    const [, size] = /^OK (\d+)\r\n$/.exec(await this.takeLine()) ?? [];
    return (await this.take(Number(size) + 2)).slice(0, -2);
  }

  /** Resolves once `isSo`, the connection has ended, or the limit is over. */
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
