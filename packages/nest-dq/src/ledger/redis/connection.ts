import { Redis, type Cluster, type RedisOptions } from 'ioredis';
import type { Verb } from '../ledger.js';
import { PROBE } from './probe.js';
import { LEAVE, TAKE } from './redis-handover.js';
import type { RawReply } from './script.js';
import { REDIS_VERBS } from './verbs.js';

/** Where the ledger's Redis is: a URL, ioredis options, or a client of the user's. */
export type RedisSource = string | RedisOptions | Redis | Cluster;

/** By the names that the connection has for them. */
export const SCRIPTS: Readonly<Record<ScriptName, string>> = {
  ...(Object.fromEntries(
    Object.entries(REDIS_VERBS).map(([verb, { script }]) => [`dq:${verb}`, script]),
  ) as Record<`dq:${Verb}`, string>),
  'dq:leave': LEAVE,
  'dq:take': TAKE,
  'dq:probe': PROBE,
};
export type ScriptName = `dq:${Verb | 'leave' | 'take' | 'probe'}`;

type ScriptCalls = {
  [name in ScriptName]: (keys: number, ...keysThenArguments: readonly string[][]) => Promise<RawReply>;
};
export type LedgerConnection = (Redis | Cluster) & ScriptCalls;

/** Milliseconds. A call without an answer for so long is given up. */
export const CALL_LIMIT = 1_000;
/** Milliseconds. A connection that says nothing for so long, although it was asked, is given up. */
export const SILENCE_LIMIT = 3_000;
/**
 * Milliseconds. ioredis counts the time in which this process was blocked, and then gives up calls whose replies wait in
 * the socket. So the ledger has limits of its own, and those of ioredis are only a net under them.
 */
const SAFETY_NET = 30_000;

/** At most 500 ms, and not the same for all processes that lost the same server. */
const retryStrategy = (times: number) => Math.min(50 * 2 ** times, 350) + Math.random() * 150;

/**
 * Nothing waits in a queue and nothing is sent twice: a late claim must not be acted upon, and every call settles.
 * Of the user's settings those stay that say where the server is and how to get in.
 */
const OURS = {
  lazyConnect: true,
  // It asks for INFO, which a user may not be allowed; what it is to find out, our first call does.
  enableReadyCheck: false,
  // Processes with and without a prefix of this kind would not see each other's claims.
  keyPrefix: '',
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  enableAutoPipelining: false,
  connectTimeout: CALL_LIMIT,
  // ioredis waits so long for the end of a stream that is closed already: the process would not end before.
  disconnectTimeout: 100,
  commandTimeout: SAFETY_NET,
  socketTimeout: SAFETY_NET,
  // A replica now, after a failover: the name or the sentinels lead to the new master.
  reconnectOnError: (error: Error) => error.message.includes('READONLY'),
  readOnly: false,
  monitor: false,
  stringNumbers: false,
  retryStrategy,
} satisfies RedisOptions;

const OURS_FOR_CLUSTERS = {
  lazyConnect: true,
  keyPrefix: '',
  // The connections to the nodes are opened by the first call, and what comes meanwhile would be refused.
  enableOfflineQueue: true,
  enableAutoPipelining: false,
  scaleReads: 'master',
  retryDelayOnFailover: 0,
  retryDelayOnClusterDown: 0,
  // Of a slot that moves we ask in another way, and soon.
  retryDelayOnTryAgain: 1,
  maxRedirections: 5,
  clusterRetryStrategy: retryStrategy,
  // A frozen master answers no MOVED: its successor is found by asking.
  slotsRefreshInterval: 2_000,
  slotsRefreshTimeout: CALL_LIMIT,
  shardedSubscribers: false,
} as const;

/** The ledger's own connection, not yet connected; a client given by the user is only copied. */
export function ledgerConnection(source: RedisSource): LedgerConnection {
  const client = ownClient(source);
  for (const [name, lua] of Object.entries(SCRIPTS)) client.defineCommand(name, { lua });
  return client as LedgerConnection;
}

/** By shape: a user's client may come from another version or copy of ioredis. */
function ownClient(source: RedisSource): Redis | Cluster {
  // What a URL's query says would go before the options given with it.
  if (typeof source === 'string') return new Redis(source, { lazyConnect: true }).duplicate(OURS);
  if (isCluster(source)) {
    const { retryStrategy: _nodesAreLeftToTheCluster, ...redisOptions } = OURS;
    // Which of a cluster's connections is silent only ioredis knows.
    const silence = { socketTimeout: SILENCE_LIMIT };
    return source.duplicate([], { ...OURS_FOR_CLUSTERS, redisOptions: { ...redisOptions, ...silence } });
  }
  if (isRedis(source)) return source.duplicate(OURS);
  return new Redis({ ...source, ...OURS });
}

/** Many masters with a part of the keys each, as opposed to one server. */
export function isCluster(client: RedisSource): client is Cluster {
  return typeof client === 'object' && 'isCluster' in client && client.isCluster;
}

function isRedis(source: RedisOptions | Redis): source is Redis {
  return 'duplicate' in source && typeof source.duplicate === 'function';
}

/** Whether the server answered, and refused: its errors begin with a code, such as OOM or NOPERM. */
export function isRefusal(error: Error): boolean {
  return /^[A-Z]{2,} /.test(error.message);
}

/**
 * Whether a script failed over what is stored, such as a record that somebody else wrote: the server is fit, and other
 * jobs are not concerned. Everything that a server says of itself (OOM, READONLY, LOADING, NOPERM) has a code of its own.
 */
export function isAboutData(error: Error): boolean {
  return /^WRONGTYPE |^ERR .*user_script/s.test(error.message);
}

/**
 * Whether a call came to nothing as the slot of its tube moves to another master: while it does, only a call that names
 * one key finds it on either. Other tubes are not concerned.
 */
export function isAboutMoving(error: Error): boolean {
  return /^TRYAGAIN |^Too many Cluster redirections.*\b(TRYAGAIN|ASK|MOVED) /s.test(error.message);
}

/** Whether the server refused the database that ioredis selects on each new connection. */
export function isAboutDatabase(error: Error): boolean {
  return (error as { command?: { name?: unknown } }).command?.name === 'select';
}

/** Whether ioredis refused a call at once, as no connection stands that could take it: an effect of `enableOfflineQueue`. */
export function isUnsent(error: Error): boolean {
  return error.message.includes('enableOfflineQueue');
}
