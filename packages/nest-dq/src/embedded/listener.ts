import { once } from 'node:events';
import { createServer, isIPv6, type AddressInfo, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { DqError, unknownName, wrongValue } from '../errors.js';

/** What `EmbeddedNode.listen` takes. */
export interface ListenOptions {
  /** 0 takes any free one. @default 11300, as beanstalkd's */
  port?: number;
  /**
   * A name or an address. The protocol knows no passwords: whoever can connect can do everything.
   * @default '127.0.0.1', which only this machine can reach
   */
  host?: string;
  /** Connections at once. One more is closed at once, without a word: the protocol has none for it. @default 1024 */
  maxConnections?: number;
}

/** Where a node listens. */
export interface ListenAddress {
  /** An address, also where a name was given. */
  readonly host: string;
  /** Never 0. */
  readonly port: number;
}

/** Serves a connection, and gives how to end it: with the replies so far, and within a second. */
type Serve = (stream: Duplex) => { close(): void };

const DEFAULTS = { port: 11_300, host: '127.0.0.1', maxConnections: 1_024 };
/** Bytes that a socket holds before a session waits with further replies. */
const HIGH_WATER_MARK = 64 * 1024;

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is taken',
  EACCES: 'this process has no right to take that port',
  EADDRNOTAVAIL: 'this machine has no such address',
  ENOTFOUND: 'there is no such host',
};

/** A TCP server in front of a node. It limits the connections, and ends them all when it is closed. */
export class Listener {
  private readonly sessions = new Set<{ close(): void }>();
  private isFull = false;
  private closing: Promise<void> | undefined;

  private constructor(
    private readonly server: Server,
    private readonly serve: Serve,
    private readonly warn: (message: string) => void,
  ) {
    server.on('connection', (socket) => this.accept(socket));
    server.on('drop', () =>
      this.refuse(`${server.maxConnections} connections are open, as many as \`maxConnections\` allows`),
    );
  }

  /** `DQ_CONFIG` for a wrong value, `DQ_LISTEN` where it cannot listen. */
  static async open(
    options: ListenOptions,
    serve: Serve,
    warn: (message: string) => void,
  ): Promise<Listener> {
    const { maxConnections, ...where } = resolve(options);
    const server = createServer({
      allowHalfOpen: true, // a client that has ended its input still gets the replies
      noDelay: true,
      keepAlive: true,
      highWaterMark: HIGH_WATER_MARK,
    });
    server.maxConnections = maxConnections;
    const listener = new Listener(server, serve, warn);
    try {
      await once(server.listen(where), 'listening');
    } catch (error) {
      throw cannotListen(where, error as NodeJS.ErrnoException);
    }
    server.on('error', ({ message }) => listener.refuse(message));
    return listener;
  }

  get address(): ListenAddress {
    const { address, port } = this.server.address() as AddressInfo;
    return { host: address, port };
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
    const session = this.serve(socket);
    this.sessions.add(session);
    socket.on('close', () => {
      this.sessions.delete(session);
      this.isFull = false;
    });
  }

  /** Warns once until a connection ends, as clients that are refused mostly try again at once. */
  private refuse(why: string): void {
    if (!this.isFull) this.warn(`a connection to ${textOf(this.address)} was refused: ${why}`);
    this.isFull = true;
  }
}

/** `DQ_LISTEN`, for what a server of Node tells. */
export function cannotListen(where: ListenAddress, cause: NodeJS.ErrnoException): DqError {
  const { code = '', message } = cause;
  return new DqError('DQ_LISTEN', `cannot listen on ${textOf(where)}: ${REASONS[code] ?? message}`, {
    cause,
  });
}

/** `host:port`, an IPv6 address in brackets. */
export function textOf({ host, port }: ListenAddress): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
}

function resolve(options: ListenOptions): Required<ListenOptions> {
  const unknown = Object.keys(options).find((name) => !(name in DEFAULTS));
  if (unknown !== undefined) throw unknownName('DQ_CONFIG', `option \`${unknown}\``, Object.keys(DEFAULTS));
  const { port = DEFAULTS.port, host = DEFAULTS.host, maxConnections = DEFAULTS.maxConnections } = options;
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw wrongValue('DQ_CONFIG', '`port`', port, 'a whole number from 0 (any free port) to 65535');
  }
  if (typeof host !== 'string' || host === '')
    throw wrongValue('DQ_CONFIG', '`host`', host, "a name or an address, such as '127.0.0.1'");
  if (!Number.isInteger(maxConnections) || maxConnections < 1) {
    throw wrongValue('DQ_CONFIG', '`maxConnections`', maxConnections, 'a whole number of 1 or more');
  }
  return { port, host, maxConnections };
}
