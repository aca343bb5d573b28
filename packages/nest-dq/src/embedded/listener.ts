import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from 'nest-handlers/time';
import type { Verb } from './command-parser.js';
import { IdleWatch, type MaybeIdle } from './idle-watch.js';
import {
  cannotListen,
  resolveServing,
  textOf,
  type ListenAddress,
  type ListenOptions,
  type Serving,
  type SocketAddress,
  type SocketOptions,
} from './listen-options.js';
import type { RareWarnings } from './rare-warnings.js';
import { listenAt } from './unix-socket.js';

/** What a listener needs of its node. */
export interface ListenerNode {
  readonly clock: Clock;
  readonly warnings: RareWarnings;
  /** `close` of what it returns ends the connection, with the replies so far, and within a second. */
  serve(stream: Duplex, denied: ReadonlySet<Verb> | undefined): MaybeIdle;
}

/** Bytes that a socket holds before a session waits with further replies. */
const HIGH_WATER_MARK = 64 * 1024;

/** A server in front of a node. It limits the connections, and ends them all when it is closed. */
export class Listener {
  readonly address: ListenAddress | SocketAddress;
  private readonly sessions = new Set<MaybeIdle>();
  private readonly idle: IdleWatch | undefined;
  private closing: Promise<void> | undefined;

  private constructor(
    private readonly server: Server,
    private readonly serving: Serving,
    private readonly node: ListenerNode,
  ) {
    const address = server.address() as AddressInfo | string;
    this.address =
      typeof address === 'string' ? { path: address } : { host: address.address, port: address.port };
    this.idle = serving.idle === Infinity ? undefined : new IdleWatch(node.clock, serving.idle);
    server.on('connection', (socket) => this.accept(socket));
    server.on('drop', () =>
      this.refuse(`${server.maxConnections} connections are open, as many as \`maxConnections\` allows`),
    );
    server.on('error', ({ message }) => this.refuse(message));
  }

  /** `DQ_CONFIG` and `DQ_BAD_DURATION` for a wrong value, `DQ_LISTEN` where it cannot listen. */
  static async open(options: ListenOptions | SocketOptions, node: ListenerNode): Promise<Listener> {
    const serving = resolveServing(options);
    const { where, maxConnections } = serving;
    const server = createServer({
      allowHalfOpen: true, // a client that has ended its input still gets the replies
      noDelay: true,
      keepAlive: true,
      highWaterMark: HIGH_WATER_MARK,
    });
    server.maxConnections = maxConnections;
    try {
      if ('path' in where) await listenAt(server, where.path);
      else await once(server.listen(where), 'listening');
    } catch (error) {
      throw cannotListen(where, error as NodeJS.ErrnoException);
    }
    return new Listener(server, serving, node);
  }

  /** Takes no more connections, ends those there are, and resolves when all are gone. Idempotent. */
  close(): Promise<void> {
    return (this.closing ??= this.end());
  }

  private async end(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    for (const session of this.sessions) session.close();
    await closed;
  }

  private accept(socket: Socket): void {
    socket.on('error', () => undefined); // its 'close' follows, and says as much: the client is gone
    const session = this.node.serve(socket, this.serving.denied);
    this.sessions.add(session);
    this.idle?.add(session);
    socket.on('close', () => {
      this.sessions.delete(session);
      this.idle?.delete(session);
    });
  }

  private refuse(why: string): void {
    const where = textOf(this.address);
    this.node.warnings.tell(`refused ${where}`, `a connection to ${where} was refused: ${why}`);
  }
}
