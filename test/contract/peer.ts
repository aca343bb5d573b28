import { expect } from '@jest/globals';
import type { Duplex } from 'node:stream';

/** One side of a wire transcript: sends bytes, and expects exact bytes back. Texts are latin1, a character a byte. */
export class Peer {
  private received = '';
  private ended = false;
  private onNews: () => void = () => undefined;

  constructor(private readonly stream: Duplex) {
    stream.on('data', (chunk: Buffer) => {
      this.received += chunk.toString('latin1');
      this.onNews();
    });
    for (const event of ['end', 'close', 'error']) {
      stream.on(event, () => {
        this.ended = true;
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

  close(): void {
    this.stream.destroy();
  }

  /** What comes next is exactly this. */
  async hears(reply: string): Promise<void> {
    await this.until(() => this.received.length >= reply.length || !reply.startsWith(this.received));
    expect(this.received.slice(0, reply.length)).toBe(reply);
    this.received = this.received.slice(reply.length);
  }

  async says(bytes: string, reply: string): Promise<void> {
    this.send(bytes);
    await this.hears(reply);
  }

  /** The text of an OK reply. */
  async asks(command: string): Promise<string> {
    this.send(`${command}\r\n`);
    const size = () => Number(/^OK (\d+)\r\n/.exec(this.received)?.[1]);
    await this.until(() => this.received.length >= `OK ${size()}\r\n`.length + size() + 2);
    const text = this.received.slice(`OK ${size()}\r\n`.length, -2);
    expect(this.received).toBe(`OK ${text.length}\r\n${text}\r\n`);
    this.received = '';
    return text;
  }

  /** Nothing more comes before the end. */
  async hearsEnd(): Promise<void> {
    await this.until(() => this.ended || this.received !== '');
    expect(this.received).toBe('');
  }

  /** All that came was heard. */
  hasHeardAll(): void {
    expect(this.received).toBe('');
  }

  private async until(isSo: () => boolean): Promise<void> {
    while (!isSo() && !this.ended) {
      await new Promise<void>((resolve) => {
        this.onNews = resolve;
      });
    }
  }
}
