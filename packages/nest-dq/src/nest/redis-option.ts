import type { RedisOptions } from 'ioredis';
import { DqError, show } from '../errors.js';
import { wrong } from './option-checks.js';

/** All ioredis options. ioredis silently ignores any other, and may then connect to 127.0.0.1:6379. */
const KNOWN = Object.keys({
  Connector: 1,
  autoPipeliningIgnoredCommands: 1,
  autoResendUnfulfilledCommands: 1,
  autoResubscribe: 1,
  blockingTimeout: 1,
  blockingTimeoutGrace: 1,
  clientInfoTag: 1,
  commandQueue: 1,
  commandTimeout: 1,
  connectTimeout: 1,
  connectionName: 1,
  db: 1,
  disableClientInfo: 1,
  disconnectTimeout: 1,
  enableAutoPipelining: 1,
  enableOfflineQueue: 1,
  enableReadyCheck: 1,
  enableTLSForSentinelMode: 1,
  failoverDetector: 1,
  family: 1,
  himportFieldsets: 1,
  host: 1,
  keepAlive: 1,
  keyPrefix: 1,
  lazyConnect: 1,
  maxLoadingRetryTime: 1,
  maxRetriesPerRequest: 1,
  monitor: 1,
  name: 1,
  natMap: 1,
  noDelay: 1,
  offlineQueue: 1,
  password: 1,
  path: 1,
  port: 1,
  preferredSlaves: 1,
  protocol: 1,
  readOnly: 1,
  reconnectOnError: 1,
  replyMapping: 1,
  retryStrategy: 1,
  role: 1,
  scripts: 1,
  sentinelCommandTimeout: 1,
  sentinelMaxConnections: 1,
  sentinelPassword: 1,
  sentinelReconnectStrategy: 1,
  sentinelRetryStrategy: 1,
  sentinelTLS: 1,
  sentinelUsername: 1,
  sentinels: 1,
  showFriendlyErrorStack: 1,
  socketTimeout: 1,
  stringNumbers: 1,
  tls: 1,
  updateSentinels: 1,
  username: 1,
} satisfies Record<keyof RedisOptions, 1>);

/** Names that other clients and frameworks use for these. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  url: 'the URL itself instead of the object',
  uri: 'the URL itself instead of the object',
  socket: '`host` and `port`, as in ioredis',
  nodes: 'a client, new Cluster(…) from ioredis',
  cluster: 'a client, new Cluster(…) from ioredis',
  rootNodes: 'a client, new Cluster(…) from ioredis',
  hostname: '`host`',
  server: '`host`',
  ip: '`host`',
  user: '`username`',
  auth: '`password`',
  auth_pass: '`password`',
  pass: '`password`',
  database: '`db`',
  ssl: '`tls`',
  masterName: '`name`',
};

/** Validates the ioredis options that locate the server. `DQ_CONFIG`; passwords are never shown. */
export function checkRedisOptions(what: string, given: object): void {
  for (const [name, value] of Object.entries(given)) {
    const fault = value === undefined ? undefined : redisOptionFault(name);
    if (fault !== undefined)
      throw new DqError('DQ_CONFIG', `unknown option \`${what}.${shown(name)}\`: ${fault}`);
  }
  const { host, port, path, family, sentinels, name, username, password, tls } = given as Record<
    string,
    unknown
  >;
  if ('host' in given) checkText(`${what}.host`, host, "a host name or address, such as 'redis.internal'");
  if ('port' in given) checkPort(`${what}.port`, port);
  if (isGiven(path)) checkText(`${what}.path`, path, "the path of a Unix socket, such as '/run/redis.sock'");
  if (isGiven(family) && ![0, 4, 6].includes(family as number))
    throw wrong(`\`${what}.family\``, family, '4, 6 or 0 for both');
  checkSecret(`${what}.username`, username);
  checkSecret(`${what}.password`, password);
  if (isGiven(tls) && typeof tls !== 'object' && typeof tls !== 'boolean')
    throw wrong(`\`${what}.tls\``, typeof tls, 'an object with TLS options');
  if (isGiven(sentinels)) return checkSentinels(what, sentinels, name);
  if (name !== undefined && name !== null)
    throw new DqError(
      'DQ_CONFIG',
      `\`${what}.name\` is set without \`${what}.sentinels\`: it is the sentinels' name for the master`,
    );
  if (!('host' in given) && !isGiven(path))
    throw new DqError(
      'DQ_CONFIG',
      `\`${what}\` names no server: expected \`host\`, \`path\` or \`sentinels\`, or a URL instead of the object`,
    );
}

/** Rejects a client of another package, which lacks the calls we need. `DQ_CONFIG`. */
export function checkRedisClient(what: string, given: object): void {
  const { duplicate, defineCommand, options, isOpen } = given as Record<string, unknown>;
  if (typeof duplicate !== 'function' || (typeof defineCommand === 'function' && typeof options === 'object'))
    return;
  const whose = isOpen === undefined ? 'not an ioredis client' : 'a client of node-redis (the package redis)';
  throw new DqError(
    'DQ_CONFIG',
    `\`${what}\` is ${whose}: expected an ioredis client, new Redis(…) or new Cluster(…); or a URL; or ioredis options`,
  );
}

function checkSentinels(what: string, sentinels: unknown, name: unknown): void {
  if (!Array.isArray(sentinels) || sentinels.length === 0)
    throw wrong(`\`${what}.sentinels\``, sentinels, 'a non-empty array of { host, port }');
  sentinels.forEach((each: unknown, i) => {
    const at = `${what}.sentinels[${i}]`;
    if (typeof each !== 'object' || each === null) throw wrong(`\`${at}\``, each, '{ host, port }');
    const { host, port } = each as Record<string, unknown>;
    checkText(`${at}.host`, host, "a host name or address, such as '10.0.0.7'");
    if (port !== undefined) checkPort(`${at}.port`, port);
  });
  checkText(`${what}.name`, name, "the sentinels' name for the master, such as 'mymaster'");
}

function checkText(what: string, value: unknown, expected: string): void {
  if (typeof value !== 'string' || value.trim() === '') throw wrong(`\`${what}\``, value, expected);
}

/** ioredis also accepts a string of digits, as from an environment variable. */
function checkPort(what: string, value: unknown): void {
  const isPort =
    (typeof value === 'number' || typeof value === 'string') &&
    /^\d{1,5}$/.test(String(value)) &&
    Number(value) >= 1 &&
    Number(value) <= 65_535;
  if (!isPort) throw wrong(`\`${what}\``, value, 'a port from 1 to 65535');
}

function checkSecret(what: string, value: unknown): void {
  if (isGiven(value) && typeof value !== 'string')
    throw new DqError('DQ_CONFIG', `\`${what}\` is a ${typeof value}: expected a string`);
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** Returns what was expected in place of an option name unknown to ioredis; undefined if it knows the name. */
export function redisOptionFault(name: string): string | undefined {
  if (KNOWN.includes(name)) return undefined;
  const meant = (Object.hasOwn(OTHER_NAMES, name) ? OTHER_NAMES[name] : undefined) ?? nearest(name);
  return `expected ${meant ?? 'an ioredis option, such as `host` or `port`'}`;
}

/** Formats a name given by the user for use between backticks in a message. */
function shown(name: string): string {
  return show(name).slice(1, -1);
}

/** Returns the closest known name, at most two edits and half of the name's letters away. */
function nearest(name: string): string | undefined {
  const distances = KNOWN.map((known) => ({
    known,
    distance: distance(name.toLowerCase(), known.toLowerCase()),
  }));
  const [first] = distances.toSorted((a, b) => a.distance - b.distance);
  return first && first.distance <= Math.min(2, name.length / 2) ? `\`${first.known}\`` : undefined;
}

/** Edit distance: the number of letters to add, remove or replace. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next[j] = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + Number(a[i - 1] !== b[j - 1]));
    row = next;
  }
  return row[b.length]!;
}
