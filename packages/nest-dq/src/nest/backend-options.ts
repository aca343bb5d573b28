import { resolve } from 'node:path';
import type { RedisOptions } from 'ioredis';
import type { Duration } from 'nest-handlers/time';
import { MAX_PLACES } from '../copies/location.js';
import { DEFAULT_PATIENCE } from '../disk/database.js';
import { checkMinFree } from '../disk/free-space.js';
import { DqError, show } from '../errors.js';
import type { RedisSource } from '../ledger/redis/connection.js';
import { EXPECTED_ENDPOINT, parseEndpoint, type Endpoint } from './endpoint.js';
import { checkDuration, wrong } from './option-checks.js';
import { checkRedisClient, checkRedisOptions, redisOptionFault } from './redis-option.js';
import { resolveTls, type NodeTls, type TlsOptions } from './tls-option.js';

/** Servers named in the options. */
export interface Servers {
  readonly beanstalks: readonly Endpoint[];
  /** Undefined if no endpoint uses TLS. */
  readonly tls: NodeTls | undefined;
  readonly redis: RedisSource;
  /** Redis with go-queue's locks. */
  readonly goQueueRedis: RedisSource;
}

/** Storage folder of the embedded node and ledger. */
export interface Folder {
  /** Absolute path. */
  readonly dir: string;
  /** How long startup waits while another process uses the folder, in ms. */
  readonly patience: number;
  /** Free space below which adds fail, in bytes; 0 for no limit. */
  readonly minFree: number;
}

/** The options that decide where jobs are stored, as the user gave them. */
export interface BackendOptions {
  readonly beanstalks?: unknown;
  readonly tls?: TlsOptions | undefined;
  readonly redis?: unknown;
  readonly goQueue?: unknown;
  readonly embedded?: unknown;
}

/** Returns the servers if both `beanstalks` and `redis` are given, undefined if neither; otherwise `DQ_CONFIG`. */
export function resolveServers(options: BackendOptions): Servers | undefined {
  const beanstalks = 'beanstalks' in options ? resolveBeanstalks(options.beanstalks) : undefined;
  const redis = 'redis' in options ? checkRedis('redis', options.redis) : undefined;
  const goQueueRedis = options.goQueue === undefined ? redis : checkGoQueue(options.goQueue);
  const tls = tlsFor(beanstalks, options.tls);
  if (beanstalks !== undefined && redis !== undefined)
    return { beanstalks, tls, redis, goQueueRedis: goQueueRedis ?? redis };
  if (beanstalks === undefined && redis === undefined) return undefined;
  const alone =
    redis === undefined
      ? '`beanstalks` is set without `redis`: with beanstalkd nodes, Redis decides which process runs a job'
      : '`redis` is set without `beanstalks`: Redis only decides which process runs a job; beanstalkd nodes store it';
  throw new DqError('DQ_CONFIG', `${alone}; set both, or neither for an embedded node`);
}

/** Returns the folder of `embedded`; undefined if in memory. `DQ_CONFIG`. */
export function resolveFolder({ embedded, beanstalks }: BackendOptions): Folder | undefined {
  if (embedded === undefined) return undefined;
  const expected = "{ dir: './data' } or 'memory'";
  const given = embedded === 'memory' ? {} : embedded;
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw wrong('`embedded`', embedded, expected);
  const unknown = Object.keys(given).find((field) => !['dir', 'patience', 'minFree'].includes(field));
  if (unknown !== undefined)
    throw new DqError('DQ_CONFIG', `unknown option \`embedded.${unknown}\`: expected ${expected}`);
  if (beanstalks !== undefined) {
    throw new DqError(
      'DQ_CONFIG',
      '`embedded` and `beanstalks` are both set: jobs are stored either by an embedded node or by beanstalkd nodes',
    );
  }
  const { patience = DEFAULT_PATIENCE, minFree } = given as { patience?: Duration; minFree?: number };
  if (!('dir' in given)) {
    if ('patience' in given) throw withoutFolder('patience', 'it is how long startup waits for that folder');
    if ('minFree' in given) throw withoutFolder('minFree', 'it is the free space that folder must have');
    return undefined;
  }
  const { dir } = given;
  if (typeof dir !== 'string' || dir.trim() === '' || dir.includes('\0'))
    throw wrong('`embedded.dir`', dir, "the path to a folder, such as './data'");
  return {
    dir: resolve(dir),
    patience: checkDuration('embedded.patience', patience, 0),
    minFree: checkMinFree('embedded.minFree', minFree),
  };
}

function withoutFolder(field: string, why: string): DqError {
  return new DqError('DQ_CONFIG', `\`embedded.${field}\` is set without \`embedded.dir\`: ${why}`);
}

function resolveBeanstalks(beanstalks: unknown): Endpoint[] {
  const expected = "a non-empty array of 'host:port', or no `beanstalks` for an embedded node";
  if (!Array.isArray(beanstalks) || beanstalks.length === 0)
    throw wrong('`beanstalks`', beanstalks, expected);
  if (beanstalks.length > MAX_PLACES)
    throw wrong('the length of `beanstalks`', beanstalks.length, `at most ${MAX_PLACES} nodes`);
  const seen = new Set<string>();
  return beanstalks.map((text: unknown, index) => {
    const endpoint = typeof text === 'string' ? parseEndpoint(text) : undefined;
    if (!endpoint) {
      throw wrong(`\`beanstalks[${index}]\``, text, EXPECTED_ENDPOINT);
    }
    const same = 'path' in endpoint.address ? endpoint.text : endpoint.text.toLowerCase();
    if (seen.has(same)) throw wrong(`\`beanstalks[${index}]\``, text, 'each node once');
    seen.add(same);
    return endpoint;
  });
}

function tlsFor(
  beanstalks: readonly Endpoint[] | undefined,
  given: TlsOptions | undefined,
): NodeTls | undefined {
  if (beanstalks?.some(({ tls }) => tls)) return resolveTls(given);
  if (given === undefined) return undefined;
  throw new DqError(
    'DQ_CONFIG',
    '`tls` is set, but no node in `beanstalks` uses TLS: expected tls://host:port, or no `tls`',
  );
}

function checkGoQueue(goQueue: unknown): RedisSource {
  const fields = typeof goQueue === 'object' && goQueue !== null ? Object.keys(goQueue).join() : goQueue;
  if (fields === 'redis') return checkRedis('goQueue.redis', (goQueue as { readonly redis: unknown }).redis);
  throw wrong('`goQueue`', fields, '{ redis }');
}

/** Never shows the password. */
function checkRedis(name: string, redis: unknown): RedisSource {
  if (typeof redis === 'string' && redis !== '') {
    const fault = redisUrlFault(redis);
    if (fault === undefined) return redis;
    throw new DqError('DQ_CONFIG', `\`${name}\` ${fault}`);
  }
  if (typeof redis === 'object' && redis !== null) {
    if ('duplicate' in redis) checkRedisClient(name, redis);
    else checkRedisOptions(name, redis);
    refuseIgnoredTls(name, 'options' in redis ? (redis.options as RedisOptions | undefined) : redis);
    const db: unknown = 'db' in redis ? redis.db : undefined;
    if (db === undefined || /^\d+$/.test(JSON.stringify(db))) return redis as RedisSource;
    throw wrong(`\`${name}.db\``, db, 'a database number, 0 or more');
  }
  const given =
    redis === '' ? 'empty' : redis === undefined || redis === null ? String(redis) : `a ${typeof redis}`;
  throw new DqError(
    'DQ_CONFIG',
    `\`${name}\` is ${given}: expected a URL, ioredis options or an ioredis client`,
  );
}

/** Otherwise ioredis would silently connect to the master without TLS. */
function refuseIgnoredTls(name: string, options: RedisOptions | undefined): void {
  if (!options?.sentinels || !options.tls || options.enableTLSForSentinelMode === true) return;
  throw new DqError(
    'DQ_CONFIG',
    `\`${name}\` has \`tls\` and \`sentinels\`, a combination in which ioredis ignores \`tls\`: expected \`enableTLSForSentinelMode: true\` as well`,
  );
}

/** Returns what is wrong with the Redis URL `text`, worded for an error message; undefined if it is valid. */
function redisUrlFault(text: string): string | undefined {
  const expected = 'expected redis://… or rediss://…';
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text)?.[1];
  if (scheme !== undefined && !/^rediss?$/i.test(scheme)) return `has the scheme ${scheme}: ${expected}`;
  if (scheme !== undefined && leadsToRedis(text)) return queryFault(text);
  return `is ${shownUrl(text)}: ${expected}`;
}

function leadsToRedis(text: string): boolean {
  try {
    const { hostname, pathname, username, password } = new URL(text);
    decodeURIComponent(username + password); // throws on a stray percent sign
    return hostname !== '' && /^\/?\d*$/.test(pathname);
  } catch {
    return false; // both throw only on malformed input
  }
}

/** ioredis reads the query of a URL as options. */
function queryFault(text: string): string | undefined {
  for (const name of new URL(text).searchParams.keys()) {
    const fault = redisOptionFault(name);
    if (fault !== undefined)
      return `has the option ${show(name)} in its query, which is unknown to ioredis: ${fault}`;
  }
  return undefined;
}

/** A host with a dot, or any host after a scheme, and what may follow it. */
const ADDRESS = /^(?:rediss?:(?:\/\/)?)?(?:[\w-]+(?:\.[\w-]+)+|(?<=\/\/)[\w.-]+)?(?::\d{1,5})?(?:\/\w*)?$/i;

/** Returns the URL as shown in a log. If it isn't an address, the password may be anywhere in it, so hardly any of it is shown. */
function shownUrl(text: string): string {
  if (/^[\w.-]+:\d{1,5}$/.test(text) || ADDRESS.test(text)) return JSON.stringify(text);
  const [scheme = ''] = /^rediss?:(\/\/)?/i.exec(text) ?? [];
  return JSON.stringify(`${scheme}…`);
}
