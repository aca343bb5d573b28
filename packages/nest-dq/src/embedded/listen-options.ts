import { isIPv6 } from 'node:net';
import { resolve as resolvePath } from 'node:path';
import type { Duration } from 'nest-handlers/time';
import { DqError, unknownName, wrongValue } from '../errors.js';
import { parseDuration } from '../time/duration.js';
import { VERBS, type Verb } from './command-parser.js';
import { resolveTls, type Tls, type ListenTlsOptions } from './tls.js';

/** How a node serves at one address, TCP or unix socket. */
export interface ServingOptions {
  /**
   * Maximum number of open connections. Another one is closed at once, silently, since the protocol has no message for it.
   * @default 1024
   */
  maxConnections?: number;
  /**
   * A connection without traffic for this long, a `Duration` of at least a second, is closed: it sends nothing, and reads none of
   * the replies waiting for it. One that holds a job, or waits in a reserve, may be silent unless replies wait.
   * @default never, as with beanstalkd
   */
  idle?: Duration;
  /** Commands answered UNKNOWN_COMMAND here, such as `['pause-tube']`: any but `quit`. @default none */
  deny?: readonly string[];
  /** Speaks TLS. Present but undefined is `DQ_CONFIG`, so that it never falls back to plain text. @default plain text */
  tls?: ListenTlsOptions;
  /** Answers only `peek…`, `stats…`, `list-…`, `use` and `quit`: nobody can change a job here. @default false */
  readOnly?: boolean;
}

/** Options of `EmbeddedNode.listen` for TCP. */
export interface ListenOptions extends ServingOptions {
  /** 0 picks any free port. @default 11300, as beanstalkd's */
  port?: number;
  /**
   * A name or an address. The protocol has no passwords: whoever can connect can do everything.
   * @default '127.0.0.1', reachable from this machine only
   */
  host?: string;
}

/** Options of `EmbeddedNode.listen` for a unix socket. */
export interface SocketOptions extends ServingOptions {
  /**
   * The file of the socket, at most 103 bytes. Only this user can connect (mode 0600). A file left by a dead process is replaced,
   * and the file is removed when the node closes.
   */
  path: string;
}

/** Address at which a node listens over TCP. */
export interface ListenAddress {
  /** An address, even if a name was given. */
  readonly host: string;
  /** Never 0. */
  readonly port: number;
}

/** The unix socket on which a node listens. */
export interface SocketAddress {
  /** Full path of the socket. */
  readonly path: string;
}

/** The options of one address, with their defaults. */
export interface Serving {
  readonly where: ListenAddress | SocketAddress;
  readonly maxConnections: number;
  /** Maximum idle time, in ms; Infinity if unlimited. */
  readonly idle: number;
  readonly tls: Tls | undefined;
  /** Undefined if no command is denied. */
  readonly denied: ReadonlySet<Verb> | undefined;
}

const DEFAULTS = { port: 11_300, host: '127.0.0.1', maxConnections: 1_024 };
const OF_ALL = ['maxConnections', 'idle', 'deny', 'readOnly', 'tls'];
const READS: readonly Verb[] = [
  ...(['peek', 'peek-ready', 'peek-delayed', 'peek-buried', 'stats', 'stats-job', 'stats-tube'] as const),
  ...(['list-tubes', 'list-tube-used', 'list-tubes-watched', 'use', 'quit'] as const),
];
/** Maximum size of a path that all systems accept. */
const LONGEST_PATH_BYTES = 103;
/** Minimum of `idle`. */
const LEAST_IDLE_MS = 1_000;

/** Throws `DQ_CONFIG`, `DQ_BAD_DURATION`. */
export function resolveServing(options: ListenOptions | SocketOptions): Serving {
  const known = [...('path' in options ? ['path'] : ['port', 'host', 'path']), ...OF_ALL];
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown !== undefined) throw unknownName('DQ_CONFIG', `option \`${unknown}\``, known);
  const { maxConnections = DEFAULTS.maxConnections, idle, readOnly = false } = options;
  if (!Number.isInteger(maxConnections) || maxConnections < 1) {
    throw wrongValue('DQ_CONFIG', '`maxConnections`', maxConnections, 'a positive integer');
  }
  if (typeof readOnly !== 'boolean') throw wrongValue('DQ_CONFIG', '`readOnly`', readOnly, 'true or false');
  return {
    where: 'path' in options ? { path: checkPath(options.path) } : resolveAddress(options),
    maxConnections,
    idle: idle === undefined ? Infinity : checkIdle(idle),
    tls: 'tls' in options ? resolveTls(options.tls!) : undefined,
    denied: deniedBy(options.deny ?? [], readOnly),
  };
}

/** `host:port`, with an IPv6 address in brackets; or `unix:` and the path. */
export function textOf(where: ListenAddress | SocketAddress): string {
  if ('path' in where) return `unix:${where.path}`;
  const { host, port } = where;
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is taken',
  EACCES: 'this process is not permitted to use that port',
  EADDRNOTAVAIL: 'this machine has no such address',
  ENOTFOUND: 'no such host',
};
const REASONS_OF_SOCKETS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process is listening there, or the file is not a socket',
  EACCES: 'no such folder, or this process is not permitted to create a file in it',
};

/** The error `DQ_LISTEN` for an error of a Node server. */
export function cannotListen(where: ListenAddress | SocketAddress, cause: NodeJS.ErrnoException): DqError {
  const { code = '', message } = cause;
  const reason = ('path' in where ? REASONS_OF_SOCKETS : REASONS)[code] ?? message;
  return new DqError('DQ_LISTEN', `cannot listen on ${textOf(where)}: ${reason}`, { cause });
}

function resolveAddress({ port = DEFAULTS.port, host = DEFAULTS.host }: ListenOptions): ListenAddress {
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw wrongValue('DQ_CONFIG', '`port`', port, 'a whole number from 0 (any free port) to 65535');
  }
  if (typeof host !== 'string' || host === '')
    throw wrongValue('DQ_CONFIG', '`host`', host, "a host name or address, such as '127.0.0.1'");
  return { host, port };
}

function checkPath(path: unknown): string {
  const isPath = typeof path === 'string' && path !== '' && !path.includes('\0');
  const full = isPath ? resolvePath(path) : '';
  if (isPath && Buffer.byteLength(full) <= LONGEST_PATH_BYTES) return full;
  throw wrongValue(
    'DQ_CONFIG',
    '`path`',
    path,
    `the path of a socket, at most ${LONGEST_PATH_BYTES} bytes as an absolute path`,
  );
}

function checkIdle(idle: Duration): number {
  const ms = parseDuration(idle, '`idle`');
  if (ms >= LEAST_IDLE_MS) return ms;
  throw wrongValue('DQ_CONFIG', '`idle`', idle, 'a duration of at least one second');
}

function deniedBy(deny: readonly string[], readOnly: boolean): ReadonlySet<Verb> | undefined {
  const deniable = VERBS.filter((verb) => verb !== 'quit');
  if (!Array.isArray(deny)) throw wrongValue('DQ_CONFIG', '`deny`', deny, 'an array of commands');
  for (const each of deny as readonly string[]) {
    if (!deniable.some((verb) => verb === each))
      throw unknownName('DQ_CONFIG', `command \`${each}\` in \`deny\``, deniable);
  }
  const denied = deniable.filter((verb) => deny.includes(verb) || (readOnly && !READS.includes(verb)));
  return denied.length === 0 ? undefined : new Set(denied);
}
