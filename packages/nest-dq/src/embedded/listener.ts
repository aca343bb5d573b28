import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, Server as TlsServer, type TLSSocket } from 'node:tls';
import type { Duplex } from 'node:stream';
import type { Clock } from 'nest-handlers/time';
import { DqError } from '../errors.js';
import type { Verb } from './command-parser.js';
import {
  cannotListen,
  type ListenAddress,
  type ListenOptions,
  resolveServing,
  type Serving,
  type SocketAddress,
  type SocketOptions,
  textOf,
} from './listen-options.js';
import type { RareWarnings } from './rare-warnings.js';
import { resolveTls, type Tls, type TlsCertificates } from './tls.js';
import { WakeTimer } from '../time/wake-timer.js';
import { lstatSync, unlinkSync } from 'node:fs';

/** The node as its listeners see it. */
interface ListenerNode {
  readonly clock: Clock;
  readonly warnings: RareWarnings;
  /** `close` of the result ends the connection with the replies so far, within a second. */
  serve(stream: Duplex, denied: ReadonlySet<Verb> | undefined): MaybeIdle;
}

/** Bytes a socket buffers before a session holds back further replies. */
const HIGH_WATER_MARK_BYTES = 64 * 1024;

/** A server in front of a node. It limits the connections, and ends them all when closed. */
export class Listener {
  readonly address: ListenAddress | SocketAddress;
  private readonly sessions = new Set<MaybeIdle>();
  /** All connections; with TLS including those before the handshake. */
  private readonly sockets = new Set<Socket>();
  private readonly idle: IdleWatch | undefined;
  private closing: Promise<void> | undefined;
  private isClosing = false;

  private constructor(
    private readonly server: Server,
    private readonly serving: Serving,
    private readonly node: ListenerNode,
  ) {
    const address = server.address() as AddressInfo | string;
    this.address =
      typeof address === 'string' ? { path: address } : { host: address.address, port: address.port };
    this.idle = serving.idle === Infinity ? undefined : new IdleWatch(node.clock, serving.idle);
    server.on('connection', (socket) => this.track(socket));
    server.on(serving.tls ? 'secureConnection' : 'connection', (socket: Socket) => this.accept(socket));
    server.on('tlsClientError', (error: Error, socket: TLSSocket) => this.refuseHandshake(error, socket));
    server.on('drop', () =>
      this.refuse(`${server.maxConnections} connections are open, the limit of \`maxConnections\``),
    );
    server.on('error', ({ message }) => this.refuse(message));
  }

  /** Rejects with `DQ_CONFIG` and `DQ_BAD_DURATION` for a wrong value, `DQ_LISTEN` if it can't listen. */
  static async open(options: ListenOptions | SocketOptions, node: ListenerNode): Promise<Listener> {
    const serving = resolveServing(options);
    const { where, maxConnections, tls } = serving;
    const server = makeServer(tls);
    server.maxConnections = maxConnections;
    try {
      if ('path' in where) await listenAt(server, where.path);
      else await once(server.listen(where), 'listening');
    } catch (error) {
      throw cannotListen(where, error as NodeJS.ErrnoException);
    }
    return new Listener(server, serving, node);
  }

  /** Gives these certificates to new connections; existing ones aren't affected. Throws `DQ_CONFIG`, and the previous ones stay in use. */
  renewTls(certificates: TlsCertificates): void {
    const { server, serving } = this;
    if (!serving.tls || !(server instanceof TlsServer))
      throw new DqError(
        'DQ_CONFIG',
        `${textOf(this.address)} does not use TLS: pass \`tls\` when it starts to listen`,
      );
    const { context, isMutual } = resolveTls(certificates);
    if (isMutual !== serving.tls.isMutual) {
      throw new DqError(
        'DQ_CONFIG',
        `\`tls.clientCa\` is ${isMutual ? '' : 'not '}set: whether clients need a certificate cannot change while it is listening`,
      );
    }
    server.setSecureContext(context);
  }

  /** Accepts no more connections, ends existing ones, and resolves when all are gone. Idempotent. */
  close(): Promise<void> {
    return (this.closing ??= this.end());
  }

  private async end(): Promise<void> {
    this.isClosing = true;
    const closed = once(this.server, 'close');
    this.server.close();
    for (const session of this.sessions) session.close();
    this.cutOthers();
    await closed;
  }

  /** On a close, once all sessions are gone: cuts connections before the handshake. */
  private cutOthers(): void {
    if (!this.isClosing || this.sessions.size > 0) return;
    for (const socket of this.sockets) socket.destroy();
  }

  private track(socket: Socket): void {
    ignoreErrors(socket);
    this.sockets.add(socket);
    socket.on('close', () => this.sockets.delete(socket));
  }

  private accept(socket: Socket): void {
    if (this.isClosing) return void socket.destroy();
    ignoreErrors(socket);
    socket.allowHalfOpen = true; // a client that has ended its input still gets the replies
    const session = this.node.serve(socket, this.serving.denied);
    this.sessions.add(session);
    this.idle?.add(session);
    socket.on('close', () => {
      this.sessions.delete(session);
      this.cutOthers();
      this.idle?.delete(session);
    });
  }

  /** Node leaves such a socket open. A client that merely disconnects, like a port check, isn't logged. */
  private refuseHandshake(error: NodeJS.ErrnoException & { reason?: string }, socket: TLSSocket): void {
    socket.destroy();
    const refusal = socket.authorizationError as unknown as string | null; // its type says Error; it is a code
    if (error.code === 'ECONNRESET' && !refusal) return;
    const why = refusal ? `its certificate is not accepted (${refusal})` : (error.reason ?? error.message);
    const where = textOf(this.address);
    this.node.warnings.warnOnce(`handshake ${where}`, `rejected a client on ${where}: ${why}`);
  }

  private refuse(why: string): void {
    const where = textOf(this.address);
    this.node.warnings.warnOnce(`refused ${where}`, `rejected a connection on ${where}: ${why}`);
  }
}

/** The 'close' event of a socket follows and says as much: the client is gone. */
function ignoreErrors(socket: Socket): void {
  socket.on('error', () => undefined);
}

/** Not half-open, so that a client that leaves during the handshake is gone. */
function makeServer(tls: Tls | undefined): Server {
  const options = {
    noDelay: true,
    keepAlive: true,
    highWaterMark: HIGH_WATER_MARK_BYTES,
  };
  if (!tls) return createServer(options);
  const { context, isMutual, handshake } = tls;
  const mutual = { requestCert: isMutual, rejectUnauthorized: isMutual };
  return createTlsServer({ ...options, ...context, ...mutual, handshakeTimeout: handshake });
}

/** A connection that may be idle. */
export interface MaybeIdle {
  /** Grows with everything its client sends, and with all replies it reads. */
  readonly moves: number;
  /** Whether the client may be silent now, because it waits for the node. */
  readonly mayBeSilent: boolean;
  /** Ends the connection. */
  close(): void;
}

/** Checks of each connection within the limit. */
const LOOKS = 4;

/**
 * Closes connections without traffic. It checks all of them periodically, which costs a command nothing; so a connection is
 * closed between the limit and a quarter more.
 */
export class IdleWatch {
  private readonly connections = new Map<MaybeIdle, { moves: number; since: number }>();
  private readonly timer: WakeTimer;

  constructor(
    private readonly clock: Clock,
    /** Maximum idle time, in ms. */
    private readonly limit: number,
  ) {
    this.timer = new WakeTimer(clock, () => this.look());
  }

  add(connection: MaybeIdle): void {
    this.connections.set(connection, { moves: connection.moves, since: this.clock.now() });
    this.timer.within(this.limit / LOOKS);
  }

  delete(connection: MaybeIdle): void {
    this.connections.delete(connection);
    if (this.connections.size === 0) this.timer.cancel();
  }

  private look(): void {
    const now = this.clock.now();
    for (const [connection, last] of this.connections) {
      if (connection.moves !== last.moves || connection.mayBeSilent) {
        last.moves = connection.moves;
        last.since = now;
      } else if (now - last.since >= this.limit) {
        connection.close();
      }
    }
    if (this.connections.size > 0) this.timer.within(this.limit / LOOKS);
  }
}

/** Removes the permissions of everyone but this user. */
const ONLY_THIS_USER = 0o177;

/**
 * Listens on a unix socket that only this user can reach. A file left there by a dead process is replaced; one of a live process,
 * or one that isn't a socket, is left alone: EADDRINUSE.
 */
async function listenAt(server: Server, path: string): Promise<void> {
  try {
    await bind(server, path);
  } catch (error) {
    if (codeOf(error) !== 'EADDRINUSE' || !(await removeIfLeft(path))) throw error;
    await bind(server, path);
  }
}

/** The file is created within the call of `listen`, so nobody else can reach it in between. */
function bind(server: Server, path: string): Promise<unknown> {
  const before = process.umask(ONLY_THIS_USER);
  try {
    server.listen({ path });
  } finally {
    process.umask(before);
  }
  return once(server, 'listening');
}

/** Resolves with true if nothing is there now. */
async function removeIfLeft(path: string): Promise<boolean> {
  const found = idOf(path);
  if (found === undefined || !(await refuses(path))) return false;
  // Check and removal in the same turn, since another process may have replaced the file.
  if (idOf(path) !== found) return false;
  unlinkSync(path);
  return true;
}

/** The inode of a socket's file; undefined if it is something else, or gone. */
function idOf(path: string): number | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats?.isSocket() ? stats.ino : undefined;
}

/** Whether nobody listens there. */
async function refuses(path: string): Promise<boolean> {
  const socket = connect({ path });
  try {
    await once(socket, 'connect');
    return false;
  } catch (error) {
    return codeOf(error) === 'ECONNREFUSED';
  } finally {
    socket.destroy();
  }
}

function codeOf(error: unknown): unknown {
  return (error as NodeJS.ErrnoException).code;
}
