import { type Cluster, Redis, type RedisOptions } from 'ioredis';
import { LEAVE, TAKE } from './redis-handover.js';
import { IDENTITY, KEY_PRINTS } from './redis-identity.js';
import type { RawReply } from '../script.js';
import { REDIS_VERBS } from './scripts.js';
import { RECORD } from '../records/record.lua.js';

/** Where the ledger's Redis is: a URL, ioredis options, or a client provided by the user. */
export type RedisSource = string | RedisOptions | Redis | Cluster;

/**
 * Reads the time in a call that is refused wherever any other is (no memory, a replica, a failing disk, a missing permission): it
 * runs every command the scripts use, in a form that writes nothing. KEYS: a key of the tube that isn't a record and never
 * exists. Reply: the server's run id, which changes with each start, or an empty string.
 */
export const PROBE: string = `
-- Not every server version names the command that a user may not run.
local function need(name, ...)
  local answer = redis.pcall(name, ...)
  local err = type(answer) == 'table' and answer.err
  if err and not string.find(err, 'wrong number of arguments', 1, true) then
    error({ err = err .. ' (' .. name .. ')' })
  end
end

need('TIME')
${RECORD}
local key = KEYS[1]
need('GET', key)
need('SET', key, '', 'XX')
need('PEXPIRE', key, 0)
need('ZADD', key, 'XX', 0, '')
need('ZREM', key, '')
need('ZSCORE', key, '')
need('EXISTS', key)
need('ZCOUNT', key, 0, 0)
need('ZREVRANGE', key, 0, 0)
need('HSET', key, '', '', '') -- a value is missing: permissions are checked before arguments
need('HDEL', key, '')
need('HGET', key, '')
need('HMGET', key, '')
local info = redis.pcall('INFO', 'server')
local runId = type(info) == 'string' and string.match(info, 'run_id:(%x+)')
return { 1, us, runId or '' }
`;

/** The scripts of the ledger, by the connection's method that calls them. */
export const SCRIPTS: Scripts = {
  ...Object.fromEntries(Object.entries(REDIS_VERBS).map(([verb, { script }]) => [`dq:${verb}`, script])),
  'dq:leave': LEAVE,
  'dq:take': TAKE,
  'dq:identity': IDENTITY,
  'dq:keyPrints': KEY_PRINTS,
  'dq:probe': PROBE,
};
export type ScriptName = `dq:${string}`;
export type Scripts = Readonly<Record<ScriptName, string>>;

type ScriptCalls = {
  [name: ScriptName]: (keys: number, ...keysThenArguments: readonly string[][]) => Promise<RawReply>;
};
export type LedgerConnection = (Redis | Cluster) & ScriptCalls;

/** Time limit of a call. */
export const CALL_LIMIT_MS = 1_000;
/** A connection that answers nothing for this long, although it was asked, is replaced. */
export const SILENCE_LIMIT_MS = 3_000;
/**
 * Time limit inside ioredis. Its limits include time during which this process was blocked, so it gives up calls whose
 * replies are already in the socket. The ledger has time limits of its own; those of ioredis apply only if these fail.
 */
const SAFETY_NET_MS = 30_000;

/** At most 500 ms, partly random, because many processes may have lost the same server. */
const retryStrategy = (times: number) => Math.min(50 * 2 ** times, 350) + Math.random() * 150;

/**
 * Settings that override the user's, who only decides where the server is and how to log in. With them ioredis neither queues a
 * call nor sends one twice: a claim must not take effect late, and every call must end.
 */
const OURS = {
  lazyConnect: true,
  // This check calls INFO, for which the Redis user may lack permission. Our first probe finds out the same.
  enableReadyCheck: false,
  // Processes with different prefixes wouldn't see each other's claims.
  keyPrefix: '',
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  enableAutoPipelining: false,
  connectTimeout: CALL_LIMIT_MS,
  // ioredis waits this long for the end of an already closed stream, and the process can't exit before.
  disconnectTimeout: 100,
  commandTimeout: SAFETY_NET_MS,
  // Otherwise ioredis would wait forever for a frozen sentinel and never ask the next one.
  sentinelCommandTimeout: CALL_LIMIT_MS,
  socketTimeout: SAFETY_NET_MS,
  // After a failover the server is a replica. The host name or the sentinels lead to the new master.
  reconnectOnError: (error: Error) => error.message.includes('READONLY'),
  readOnly: false,
  monitor: false,
  stringNumbers: false,
  retryStrategy,
} satisfies RedisOptions;

const OURS_FOR_CLUSTERS = {
  lazyConnect: true,
  keyPrefix: '',
  // The first call opens the connection to a node. Without the queue, ioredis would refuse calls until it is established.
  enableOfflineQueue: true,
  enableAutoPipelining: false,
  scaleReads: 'master',
  retryDelayOnFailover: 0,
  retryDelayOnClusterDown: 0,
  // After TRYAGAIN the slot is moving. The ledger then asks in another way, and should do so soon.
  retryDelayOnTryAgain: 1,
  maxRedirections: 5,
  clusterRetryStrategy: retryStrategy,
  // A frozen master doesn't answer MOVED, so ioredis asks the other nodes which master took its place.
  slotsRefreshInterval: 2_000,
  slotsRefreshTimeout: CALL_LIMIT_MS,
  shardedSubscribers: false,
} as const;

/** Creates the ledger's own connection, not yet connected; a client provided by the user is only copied. */
export function ledgerConnection(source: RedisSource): LedgerConnection {
  const client = ownClient(source);
  define(client, SCRIPTS);
  return client as LedgerConnection;
}

/** Makes each script a method of the connection. */
export function define(connection: Redis | Cluster, scripts: Scripts): void {
  for (const [name, lua] of Object.entries(scripts)) connection.defineCommand(name, { lua });
}

/** Checks properties rather than classes: a user's client may come from another version or copy of ioredis. */
export function ownClient(source: RedisSource, more: RedisOptions = {}): Redis | Cluster {
  // In ioredis, the query of a URL takes precedence over options passed with the URL, so these are passed afterwards.
  if (typeof source === 'string')
    return new Redis(source, { lazyConnect: true }).duplicate({ ...OURS, ...more });
  if (isCluster(source)) {
    const { retryStrategy: _nodesAreLeftToTheCluster, ...redisOptions } = OURS;
    // Only ioredis knows which connection of a cluster is silent, so it replaces that one itself.
    const silence = { socketTimeout: SILENCE_LIMIT_MS };
    return source.duplicate([], {
      ...OURS_FOR_CLUSTERS,
      redisOptions: { ...redisOptions, ...silence, ...more },
    });
  }
  if (isRedis(source)) return source.duplicate({ ...OURS, ...more });
  return new Redis({ ...source, ...OURS, ...more });
}

/** Whether it leads to a Redis Cluster, where each of several masters holds a part of the keys. */
export function isCluster(client: RedisSource): client is Cluster {
  return typeof client === 'object' && 'isCluster' in client && client.isCluster;
}

function isRedis(source: RedisOptions | Redis): source is Redis {
  return 'duplicate' in source && typeof source.duplicate === 'function';
}

/**
 * Removes the arguments of an error's command, which may be a password (AUTH) or job data. The name of the command stays. ioredis
 * nests errors: those of Redis Cluster nodes are in fields of its own.
 */
export function withoutArguments(error: Error): Error {
  const { command, cause, lastNodeError, errors } = error as {
    command?: { readonly name?: unknown };
    cause?: unknown;
    lastNodeError?: unknown;
    errors?: unknown;
  };
  if (command !== undefined) Object.assign(error, { command: { name: command.name } });
  for (const inner of [cause, lastNodeError, ...(Array.isArray(errors) ? (errors as unknown[]) : [])])
    if (inner instanceof Error) withoutArguments(inner);
  return error;
}

/** Whether the server answered with an error, which starts with a code such as OOM or NOPERM. */
export function isRefusal(error: Error): boolean {
  return /^[A-Z]{2,} /.test(error.message);
}

/**
 * Whether a script failed because of stored data, such as a record written by another program. The server then works, and calls
 * about other jobs succeed. If the server itself is the cause, the error has its own code (OOM, READONLY, LOADING, NOPERM).
 */
export function isAboutData(error: Error): boolean {
  return /^WRONGTYPE |^ERR .*user_script/s.test(error.message);
}

/**
 * Whether a call failed because its tube's slot is moving to another master. Meanwhile, only a call with a single key is sent to
 * the master that holds the key. Other tubes aren't affected.
 */
export function isAboutMoving(error: Error): boolean {
  return /^TRYAGAIN |^Too many Cluster redirections.*\b(TRYAGAIN|ASK|MOVED) /s.test(error.message);
}

/** Whether the server refused the database that ioredis selects on each new connection. */
export function isAboutDatabase(error: Error): boolean {
  return (error as { command?: { name?: unknown } }).command?.name === 'select';
}

/** Whether ioredis refused to send a call without a connection: an effect of `enableOfflineQueue`. */
export function isUnsent(error: Error): boolean {
  return error.message.includes('enableOfflineQueue');
}

/** Whether ioredis gave up a call because its connection ended: an effect of `maxRetriesPerRequest`. */
export function isGivenUp(error: Error): boolean {
  return error.message.startsWith('Reached the max retries per request limit');
}
