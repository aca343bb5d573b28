import { Duplex } from 'node:stream';
import { VirtualClock } from 'nest-handlers/testing';
import type { BeanstalkError } from '../src/beanstalk/codec/beanstalk-error.js';
import { Connection, type Done } from '../src/beanstalk/connection.js';

/** The server's end of a connection. It records each write, and the spec says what it sends. */
export class Wire extends Duplex {
  readonly writes: string[] = [];
  connecting?: boolean;

  override _write(chunk: Buffer, _encoding: BufferEncoding, written: (error?: Error) => void): void {
    this.writes.push(chunk.toString('latin1'));
    written();
  }

  override _read(): void {
    // What arrives is pushed by `say`.
  }

  async say(text: string): Promise<void> {
    this.push(Buffer.from(text, 'latin1'));
    await turn();
  }
}

/** Waits until everything has happened that takes no time. */
export async function turn(): Promise<void> {
  for (let i = 0; i < 3; i++) await new Promise<void>((resolve) => setImmediate(resolve));
}

export const OPTIONS = { priority: 1, delay: 0, ttr: 60 };

export function setup(wire = new Wire()) {
  const clock = new VirtualClock();
  const closes: BeanstalkError[] = [];
  /** In the order in which they came: a value, or a code, with `?` if the result is unknown. */
  const results: unknown[] = [];
  const connection = new Connection(wire, { clock, onClose: (reason) => closes.push(reason) });
  const note =
    (name: string): Done<unknown> =>
    (error, value) =>
      results.push([name, error ? `${error.code}${error.unknown ? '?' : ''}` : value]);
  return { wire, clock, connection, closes, results, note };
}
