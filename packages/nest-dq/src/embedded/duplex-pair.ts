import { Duplex } from 'node:stream';
import type { Clock } from 'nest-handlers/time';

type Done = (error?: Error | null) => void;

const HIGH_WATER_MARK = 64 * 1024;

/**
 * One end of a connection within the process. What is written arrives at the other end in a later turn of the
 * event loop, as from a socket: neither end ever runs inside the other's call, and a chain of requests and replies
 * starves nobody. A write is done when the reader has room for more.
 */
class Side extends Duplex {
  peer!: Side;
  private writerDone: Done | undefined;

  constructor(
    private readonly clock: Clock,
    allowHalfOpen: boolean,
  ) {
    super({ allowHalfOpen, highWaterMark: HIGH_WATER_MARK });
  }

  /** Without a `_write`, a single chunk comes here, too. */
  override _writev(chunks: { chunk: Buffer }[], done: Done): void {
    this.clock.soon(() => this.peer.arrive(chunks, done));
  }

  override _read(): void {
    const done = this.writerDone;
    this.writerDone = undefined;
    done?.();
  }

  override _final(done: Done): void {
    this.clock.soon(() => {
      if (!this.peer.destroyed) this.peer.push(null);
      done();
    });
  }

  override _destroy(error: Error | null, done: Done): void {
    this._read(); // the writer at the other end must not wait for ever
    this.clock.soon(() => this.peer.destroy());
    done(error);
  }

  private arrive(chunks: { chunk: Buffer }[], done: Done): void {
    let room = true;
    for (const { chunk } of chunks) {
      if (!this.destroyed) room = this.push(chunk);
    }
    if (room || this.destroyed) done();
    else this.writerDone = done;
  }
}

/**
 * Two connected ends: ending one ends the other's input, destroying one destroys the other (without its error). The client
 * ends itself when the server has ended, as a net.Socket does by default. The server may write on when the client has ended.
 */
export function duplexPair(clock: Clock): { client: Duplex; server: Duplex } {
  const client = new Side(clock, false);
  const server = new Side(clock, true);
  client.peer = server;
  server.peer = client;
  return { client, server };
}
