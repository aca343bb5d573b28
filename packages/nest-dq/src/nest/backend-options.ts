import { resolve } from 'node:path';
import { DEFAULT_PATIENCE } from '../disk/database.js';
import { DqError } from '../errors.js';
import type { RedisSource } from '../ledger/redis/connection.js';
import type { Duration } from '../time/duration.js';
import { parseEndpoint, type Endpoint } from './endpoint.js';
import { checkDuration, wrong } from './option-checks.js';
import { redisUrlFault } from './redis-url.js';

/** The servers that options name. */
export interface Servers {
  readonly beanstalks: readonly Endpoint[];
  readonly redis: RedisSource;
}

/** Where the embedded node and ledger keep everything. */
export interface Folder {
  /** An absolute path. */
  readonly dir: string;
  /** Milliseconds. For how long a start waits while it is in use. */
  readonly patience: number;
}

/** Of the options, those that say what keeps the jobs, as they were given. */
export interface BackendOptions {
  readonly beanstalks?: unknown;
  readonly redis?: unknown;
  readonly embedded?: unknown;
}

/** Both `beanstalks` and `redis`, or neither; `DQ_CONFIG`. */
export function resolveServers(options: BackendOptions): Servers | undefined {
  const beanstalks = 'beanstalks' in options ? resolveBeanstalks(options.beanstalks) : undefined;
  const redis = 'redis' in options ? checkRedis(options.redis) : undefined;
  if (beanstalks !== undefined && redis !== undefined) return { beanstalks, redis };
  if (beanstalks === undefined && redis === undefined) return undefined;
  const alone =
    redis === undefined
      ? '`beanstalks` is given without `redis`: with beanstalkd nodes, Redis decides which process runs a job'
      : '`redis` is given without `beanstalks`: Redis only decides who runs a job, and beanstalkd nodes keep it';
  throw new DqError('DQ_CONFIG', `${alone}; give both, or neither for an embedded node`);
}

/** Of `embedded` where it is no text. */
const FIELDS = ['dir', 'patience'];

/** Of `embedded`; undefined: in memory. `DQ_CONFIG`. */
export function resolveFolder({ embedded, beanstalks }: BackendOptions): Folder | undefined {
  if (embedded === undefined) return undefined;
  const expected = "{ dir: './data' }, or 'memory'";
  const isMemory = embedded === 'memory';
  if (!isMemory && (typeof embedded !== 'object' || embedded === null || Array.isArray(embedded)))
    throw wrong('`embedded`', embedded, expected);
  const unknown = isMemory ? undefined : Object.keys(embedded).find((field) => !FIELDS.includes(field));
  if (unknown !== undefined)
    throw new DqError('DQ_CONFIG', `there is no \`embedded.${unknown}\`: expected ${expected}`);
  if (beanstalks !== undefined) {
    throw new DqError(
      'DQ_CONFIG',
      '`embedded` and `beanstalks` are both given: jobs are kept by an embedded node or by beanstalkd nodes, not by both',
    );
  }
  if (isMemory) return undefined;
  const { patience = DEFAULT_PATIENCE } = embedded as { patience?: Duration };
  if (!('dir' in embedded)) {
    if (!('patience' in embedded)) return undefined;
    throw new DqError(
      'DQ_CONFIG',
      '`embedded.patience` is given without `embedded.dir`: it is how long a start waits for that',
    );
  }
  const { dir } = embedded;
  if (typeof dir !== 'string' || dir.trim() === '' || dir.includes('\0'))
    throw wrong('`embedded.dir`', dir, "the path of a folder, such as './data'");
  return { dir: resolve(dir), patience: checkDuration('embedded.patience', patience, 0) };
}

function resolveBeanstalks(beanstalks: unknown): Endpoint[] {
  const expected = "a list of one 'host:port' or more, or no `beanstalks` at all for an embedded node";
  if (!Array.isArray(beanstalks) || beanstalks.length === 0)
    throw wrong('`beanstalks`', beanstalks, expected);
  const seen = new Set<string>();
  return beanstalks.map((text: unknown, index) => {
    const endpoint = typeof text === 'string' ? parseEndpoint(text) : undefined;
    if (!endpoint) {
      throw wrong(
        `\`beanstalks[${index}]\``,
        text,
        "'host:port' with a port of 1 to 65535, such as '10.0.0.1:11300' or '[::1]:11300'",
      );
    }
    const same = endpoint.text.toLowerCase();
    if (seen.has(same)) throw wrong(`\`beanstalks[${index}]\``, text, 'each node once');
    seen.add(same);
    return endpoint;
  });
}

/** Its password is never shown. */
function checkRedis(redis: unknown): RedisSource {
  const isGiven = typeof redis === 'string' ? redis !== '' : typeof redis === 'object' && redis !== null;
  const fault = isGiven && typeof redis === 'string' ? redisUrlFault(redis) : undefined;
  if (fault !== undefined) throw new DqError('DQ_CONFIG', `\`redis\` ${fault}`);
  const db: unknown = typeof redis === 'object' && redis !== null && 'db' in redis ? redis.db : undefined;
  if (db !== undefined && !/^\d+$/.test(JSON.stringify(db)))
    throw wrong('`redis.db`', db, 'the number of a database, 0 or more');
  if (isGiven) return redis as RedisSource;
  const given =
    typeof redis === 'string'
      ? 'empty'
      : redis === undefined || redis === null
        ? String(redis)
        : `a ${typeof redis}`;
  throw new DqError(
    'DQ_CONFIG',
    `\`redis\` is ${given}: expected a URL, ioredis options or an ioredis client`,
  );
}
