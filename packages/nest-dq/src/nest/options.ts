import type { LoggerService } from '@nestjs/common';
import type { RedisOptions } from 'ioredis';
import type { Duration } from 'nest-handlers/time';
import { resolveLog, withoutSecrets } from 'nest-handlers/log';
import { resolveRetention, type Retention } from '../consumer/retention.js';
import { resolveHandlerDefaults, type HandlerSettings } from '../consumer/run/handler-settings.js';
import type { Seal } from '../seal/seal.js';
import { DqError, show, unknownName } from '../errors.js';
import { checkHooks, type DqHooks } from '../events/hooks.js';
import type { HandlerOptions, RetentionOptions } from '../api/job.js';
import { keptAfter } from '../ledger/ledger.js';
import { resolveFolder, resolveServers, type Folder, type Servers } from './backend-options.js';
import { resolveIndex } from './index-option.js';
import { DEFAULT_LOG_LEVELS, type DqLogLevels } from './log-levels.js';
import { resolveSeal, type SealOptions } from './seal-option.js';
import type { TlsOptions } from './tls-option.js';
import {
  LOG_ERRORS,
  asConfigError,
  checkBoolean,
  checkCount,
  checkDuration,
  checkPrefix,
  wrong,
} from './option-checks.js';

/** A client of ioredis 5 or 6, of one server or of a Redis Cluster; taken by its shape, so it may be another copy of ioredis. */
export interface RedisClient {
  /** Distinguishes a client from options. */
  readonly status: string;
  /** Makes the client that is used. */
  duplicate(...args: never[]): unknown;
}

/** What `DqModule.forRoot` takes. Anything wrong in it is `DQ_CONFIG`, and the application does not start. */
export interface DqOptions {
  /**
   * `host:port` of each beanstalkd, 100 at most; an IPv6 address in brackets. `tls://host:port` where TLS is in front of it, and
   * `unix:/path` for its socket on this machine. Needs `redis`. Each server once: two names of one server are `DQ_CONFIG` if
   * it answers to both at the start; if that shows later, one of them gets no copies.
   * A value that is undefined or empty is `DQ_CONFIG`, and never a silent embedded node.
   * @default an embedded node and ledger: see `embedded`
   */
  beanstalks?: readonly string[];
  /**
   * For all `tls://` endpoints of `beanstalks`, of which it needs one.
   * @default certificates of authorities that Node trusts, for the host of the endpoint
   */
  tls?: TlsOptions;
  /**
   * A URL that begins with `redis://` or `rediss://`; ioredis options; or a client of yours, which is only copied and never
   * closed. Needs `beanstalks`.
   */
  redis?: string | RedisOptions | RedisClient;
  /**
   * Of services with go-queue, whose tubes `defineTube(…, { wire: 'go-queue' })` names. `redis`: where go-queue has its locks, in the
   * forms of the option `redis`; always their database 0, and keys without a prefix, as go-queue has it. Needs `redis`.
   * @default the server of `redis`
   */
  goQueue?: { redis: string | RedisOptions | RedisClient };
  /**
   * `dir`: a folder in which the embedded node and ledger store everything, so that a restart loses nothing. It is made if
   * it does not exist; a relative path is below the working directory. One process and one cluster at a time can use it.
   * It needs the package `classic-level`. `patience`: how long a start waits while another process uses the folder, as the
   * process before does while it drains; 0 fails at once, the default is 15 s. `minFree`: bytes; while the file system of the folder has
   * less free, adds fail with `DQ_TOO_FEW_COPIES`, before a write could; 0: no limit, the default is 64 MiB.
   * `'memory'`: they have everything in the memory of this process, and it is lost with the process. Without `embedded` it
   * is the same, with a warning; where `NODE_ENV` is `production`, `'memory'` must be given.
   * Not together with `beanstalks`. A `dir` that is undefined or empty is `DQ_CONFIG`, and never a silent memory.
   * @default in memory, with a warning; where `NODE_ENV` is `production`, `DQ_CONFIG`
   */
  embedded?: 'memory' | { dir?: string; patience?: Duration; minFree?: number };
  /** Copies of a job. @default 3, or the number of nodes if there are fewer */
  replicas?: number;
  /** Copies that must be confirmed before an add succeeds. @default 2, or `replicas` if that is less */
  minWritten?: number;
  /** How much later a backup copy comes due; at least a second. @default '2s' */
  backupDelay?: Duration;
  /**
   * How long a call (an add, a revoke, a move, a find, a call of dead letters) is tried again while servers are away and it
   * certainly had no effect. 0: it fails at once. Each call can have its own. @default '5s'
   */
  patience?: Duration;
  /**
   * Stands before every tube name and Redis key, so that two applications can share servers. It counts in the 200 bytes of
   * a tube's name.
   * @default ''
   */
  prefix?: string;
  /** False: this process only produces; its handlers are checked but not run. @default true */
  consume?: boolean;
  /** The defaults of handlers. @default concurrency 10, attempts 10, backoff exponential from 2 s to 1 h, jitter 0.2 */
  handlers?: Omit<HandlerOptions, 'cluster' | 'deadLetters' | 'limit'>;
  /** How long a shutdown waits for running handlers before their signals abort and their runs are handed back. @default '10s' */
  drainLimit?: Duration;
  /**
   * How long a process that is silent keeps the right to run its jobs; at least 3 seconds, the same in all processes. It is
   * renewed automatically, so a handler can take longer.
   * @default '15s'
   */
  lease?: Duration;
  /**
   * How long the end of a job is remembered after the last of its copies is gone; at least a minute and four leases, the same
   * in all processes. `'untilStale'`: until no copy of it that was ever stored could run, which is twice `staleAfter` and a minute after its last
   * due time. Then nobody who stores such a copy again, as a server that lost its disk does, makes a job run that is over: better with a short
   * `staleAfter`, as each job has a record for so long.
   * @default '10m'
   */
  doneTtl?: Duration | 'untilStale';
  /** If a copy is overdue by more than this, and the ledger knows nothing of its job, it becomes a dead letter; at least a minute. @default '7d' */
  staleAfter?: Duration;
  /**
   * How long dead letters stay. About every minute, each process removes letters of the tubes that it consumes, with their
   * copies: those that are older than `maxAge` (at least a minute), and the oldest of a tube that has more than `maxCount`.
   * Better the same in all processes, as the strictest one decides. A handler can have its own.
   * @default { maxAge: '30d', maxCount: 10_000 }
   */
  deadLetters?: RetentionOptions;
  /**
   * Whether jobs that wait are listed in Redis, some 240 bytes a job, so that they can be looked at and found by their id:
   * at most `most` jobs of a tube, 0 to 100,000,000; `true` means 1,000,000. Jobs are listed behind their adds, and no add waits
   * for it or fails by it. With `false` this process lists none, and `revokeMany`, `rescheduleMany` and `repair` fail. An
   * embedded node lists its jobs itself, whatever this says.
   * @default true
   */
  index?: boolean | { most?: number };
  /**
   * Whether jobs that miss copies, as after a node lost its disk, get them again by themselves: one process of all looks for them,
   * and does what `DqControl.repair` does. The same in all processes, as that one decides. Without an index, with one copy of
   * each job, or on an embedded node there is nothing to repair.
   * @default true
   */
  repair?: boolean;
  /**
   * A run that starts this much later than due makes the event `late`. An idle cluster takes some milliseconds, or two seconds
   * and more if the primary's node is away. So the default shows both a backlog and a missing node.
   * @default '1s'
   */
  lateAfter?: Duration;
  /**
   * Seals jobs, so that nobody without the keys can read or change them, or make a handler run. All processes need the keys. @default they are not
   * sealed
   */
  seal?: SealOptions;
  /** They carry contexts from where jobs are scheduled to where they run; the first is outermost. @default none */
  hooks?: readonly DqHooks[];
  /** For warnings and failures; lines of a cluster with a name begin with the name. @default Nest's logger with the context 'Dq' */
  logger?: LoggerService;
  /** The log levels of what happens often. @default { retries: 'warn', discards: 'warn', deadLetters: 'error', servers: 'warn' } */
  logLevels?: DqLogLevels;
}

/** The options after they were checked and filled. */
export interface ResolvedOptions
  extends Milliseconds, Required<Pick<DqOptions, 'prefix' | 'consume' | 'repair'>> {
  /** Undefined: an embedded node and ledger. */
  readonly servers?: Servers;
  /** Where the embedded node and ledger store everything. Undefined: in memory. */
  readonly folder?: Folder;
  /** Memory was asked for by name. */
  readonly memory: boolean;
  readonly replicas: number;
  readonly minWritten: number;
  /** One copy of each job was asked for by name. */
  readonly oneCopyWanted: boolean;
  readonly handlers: HandlerSettings;
  readonly deadLetters: Retention;
  /** Jobs that the index of a tube may have. 0: there is none. */
  readonly mostIndexed: number;
  /** How jobs are sealed. Undefined: they are not. */
  readonly seal: Seal | undefined;
  readonly hooks: readonly DqHooks[];
  readonly logger: LoggerService;
  readonly logLevels: Required<DqLogLevels>;
  /** Whether to warn of how the application is run. The test kit does not. */
  readonly advise: boolean;
}

type Durations = 'backupDelay' | 'patience' | 'drainLimit' | 'lease' | 'staleAfter' | 'lateAfter';
type Milliseconds = { readonly [Name in Durations | 'doneTtl']: number };

const DEFAULTS = {
  replicas: 3,
  minWritten: 2,
  backupDelay: '2s',
  patience: '5s',
  prefix: '',
  consume: true,
  handlers: {},
  drainLimit: '10s',
  lease: '15s',
  doneTtl: '10m',
  staleAfter: '7d',
  deadLetters: {},
  index: true,
  repair: true,
  lateAfter: '1s',
  hooks: [],
} satisfies DqOptions;

/** Every option there is. */
export const OPTION_NAMES: readonly string[] = [
  'beanstalks',
  'tls',
  'redis',
  'goQueue',
  'embedded',
  ...Object.keys(DEFAULTS),
  'seal',
  'logger',
  'logLevels',
];

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
/** The ledger counts the copies of a job in the bits of one number. */
const MOST_REPLICAS = 16;
/** The default: thirty days. */
const RETENTION: Retention = { maxAge: 30 * 86_400 * SECOND, maxCount: 10_000 };

/**
 * Checks what the user gave, all of it, and fills the rest; `DQ_CONFIG`. `defaultLogger` is given, as the command has one of its
 * own, and would load Nest for nothing.
 */
export function resolveOptions(
  options: DqOptions,
  defaultLogger: LoggerService,
  cluster?: string,
  embeddedNodes = 1,
): ResolvedOptions {
  if (typeof options !== 'object' || options === null)
    throw wrong('what DqModule was given', options, 'an object');
  refuseUnknown(options);
  const servers = resolveServers(options);
  const folder = resolveFolder(options);
  const nodes = servers?.beanstalks.length ?? embeddedNodes;
  const given = { ...DEFAULTS, ...withoutUndefined(options) };

  const count = (name: 'replicas' | 'minWritten', most: number, why: string) =>
    options[name] === undefined ? Math.min(DEFAULTS[name], most) : checkCount(name, given[name], most, why);
  const mostReplicas = Math.min(nodes, MOST_REPLICAS);
  const why = nodes === mostReplicas ? 'the number of nodes' : 'the most there can be';
  const replicas = count('replicas', mostReplicas, why);

  const duration = (name: Durations, least: number) => checkDuration(name, given[name], least);
  const lease = duration('lease', 3 * SECOND);
  const staleAfter = duration('staleAfter', MINUTE);
  const prefix = checkPrefix(given.prefix);
  const log = { logger: defaultLogger, logLevels: DEFAULT_LOG_LEVELS };
  return {
    servers,
    folder,
    memory: options.embedded === 'memory',
    replicas,
    oneCopyWanted: options.replicas === 1,
    minWritten: count('minWritten', replicas, 'the number of replicas'),
    backupDelay: duration('backupDelay', SECOND),
    patience: duration('patience', 0),
    prefix,
    seal: resolveSeal(options.seal, prefix),
    consume: checkBoolean('consume', given.consume),
    handlers: asConfigError('`handlers`: ', () => resolveHandlerDefaults(given.handlers)),
    drainLimit: duration('drainLimit', 0),
    lease,
    doneTtl: resolveDoneTtl(given.doneTtl, lease, staleAfter),
    staleAfter,
    deadLetters: asConfigError('', () => resolveRetention(given.deadLetters, RETENTION)),
    mostIndexed: resolveIndex(given.index, servers !== undefined),
    repair: checkBoolean('repair', given.repair),
    lateAfter: duration('lateAfter', 0),
    hooks: checkHooks(given.hooks),
    advise: true,
    ...resolveLog(options, log, cluster, LOG_ERRORS),
  };
}

function refuseUnknown(options: object): void {
  for (const [name, value] of Object.entries(options)) {
    if (OPTION_NAMES.includes(name) || value === undefined) continue;
    if (name === 'name') {
      throw new DqError(
        'DQ_CONFIG',
        '`name` says which cluster it is, so it stands beside `useFactory`, not in what that returns',
      );
    }
    const [shown] = Object.values(withoutSecrets({ [name]: value }) as object) as unknown[];
    throw unknownName('DQ_CONFIG', `option \`${name}\` (given ${show(shown)})`, OPTION_NAMES);
  }
}

function resolveDoneTtl(given: DqOptions['doneTtl'] & {}, lease: number, staleAfter: number): number {
  if (given === 'untilStale') return Math.max(keptAfter({ staleAfter }), 4 * lease);
  const doneTtl = checkDuration('doneTtl', given, MINUTE);
  if (doneTtl >= 4 * lease) return doneTtl;
  throw new DqError(
    'DQ_CONFIG',
    `\`doneTtl\` is ${doneTtl} ms: expected ${4 * lease} ms or more, four leases of ${lease} ms`,
  );
}

function withoutUndefined<T extends object>(options: T): T {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T;
}
