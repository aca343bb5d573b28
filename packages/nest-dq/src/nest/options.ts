import type { LoggerService } from '@nestjs/common';
import type { RedisOptions } from 'ioredis';
import type { Duration } from 'nest-handlers/time';
import { resolveLog, withoutSecrets } from 'nest-handlers/log';
import { resolveKeepDone, type KeepDone } from '../consumer/keep-done.js';
import { resolveRetention, type Retention } from '../consumer/retention.js';
import { resolveHandlerDefaults, type HandlerSettings } from '../consumer/run/handler-settings.js';
import type { Seal } from '../seal/seal.js';
import { DqError, show, unknownName } from '../errors.js';
import { checkHooks, type DqHooks } from '../events/hooks.js';
import type { HandlerOptions, KeepDoneOptions, RetentionOptions } from '../api/job.js';
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

/** An ioredis 5 or 6 client, standalone or Redis Cluster; matched by shape, so it may come from another copy of ioredis. */
export interface RedisClient {
  /** Tells a client from options. */
  readonly status: string;
  /** Creates the client that is actually used. */
  duplicate(...args: never[]): unknown;
}

/** Settings for tubes shared with go-queue services. */
export interface GoQueueOptions {
  /**
   * Where go-queue keeps its locks, in the same forms as the option `redis`; always database 0 and no key prefix, as in go-queue.
   * @default the server of the option `redis`
   */
  redis: string | RedisOptions | RedisClient;
}

/** Settings that hardly any application changes. All but `backupDelay` must be the same in all processes. */
export interface DqAdvancedOptions {
  /** How much later a backup copy becomes due; at least a second. @default '2s' */
  backupDelay?: Duration;
  /**
   * How long a silent process keeps the right to run its jobs; at least 3 seconds, the same in all processes. Renewed
   * automatically, so a handler may take longer.
   * @default '15s'
   */
  lease?: Duration;
  /**
   * How long the end of a job is remembered after its last copy is gone; at least a minute and four leases, the same in all
   * processes. `'untilStale'`: until no copy ever stored could still run, i.e. twice `staleAfter` plus a minute after its last
   * due time. Then a finished job can't run again even if an old copy reappears, as from a server that lost its disk. Prefer a
   * short `staleAfter` with it, because every job keeps a record that long.
   * @default '10m'
   */
  doneTtl?: Duration | 'untilStale';
  /** A copy overdue by more than this whose job the ledger has no record of becomes a dead letter; at least a minute. @default '7d' */
  staleAfter?: Duration;
}

/** Options of `DqModule.forRoot`. An invalid option is `DQ_CONFIG`, and the application does not start. */
export interface DqOptions {
  /**
   * `host:port` of each beanstalkd, at most 100; an IPv6 address in brackets. `tls://host:port` if it sits behind TLS, and
   * `unix:/path` for a socket on this machine. Needs `redis`. List each server once: two names of one server are `DQ_CONFIG` if
   * it answers to both at startup; if that only shows later, one of them gets no copies. An undefined or empty value is
   * `DQ_CONFIG`, never a silent embedded node.
   * @default an embedded node and ledger: see `embedded`
   */
  beanstalks?: readonly string[];
  /**
   * TLS settings of all `tls://` endpoints in `beanstalks`; needs at least one.
   * @default certificates from authorities that Node trusts, for the host of the endpoint
   */
  tls?: TlsOptions;
  /**
   * A `redis://` or `rediss://` URL, ioredis options, or your own client, which is only duplicated and never closed. Needs
   * `beanstalks`.
   */
  redis?: string | RedisOptions | RedisClient;
  /** Settings for tubes shared with go-queue services, as named by `defineTube(…, { wire: 'go-queue' })`. Needs `redis`. */
  goQueue?: GoQueueOptions;
  /**
   * Embedded node and ledger. `dir`: a folder where they store everything, so that a restart loses nothing. Created if missing; a
   * relative path is relative to the working directory. Used by one process and one cluster at a time. Needs the package
   * `classic-level`. `patience`: how long startup waits while another process uses the folder, such as the previous one while it
   * drains; 0 fails at once, default 15 s. `minFree`: free space required on the folder's file system, in bytes; below it, adds
   * fail with `DQ_TOO_FEW_COPIES` before a write could fail; 0 means no limit, default 64 MiB.
   * `'memory'`: everything is kept in this process's memory and lost with it. Omitting `embedded` means the same, with a warning;
   * if `NODE_ENV` is `production`, `'memory'` must be explicit.
   * Can't be combined with `beanstalks`. An undefined or empty `dir` is `DQ_CONFIG`, never silently memory.
   * @default in memory, with a warning; `DQ_CONFIG` if `NODE_ENV` is `production`
   */
  embedded?: 'memory' | { dir?: string; patience?: Duration; minFree?: number };
  /** Number of copies of a job. @default 3, or the number of nodes if there are fewer */
  replicas?: number;
  /** Copies that must be confirmed before an add succeeds. @default 2, or `replicas` if that is less */
  minWritten?: number;
  /**
   * How long to retry a call (an add, a revoke, a move, a find, a dead letter call) while servers are away and it certainly had
   * no effect. 0 fails at once. Can be overridden per call. @default '5s'
   */
  patience?: Duration;
  /**
   * Prefix of every tube name and Redis key, so that two applications can share servers. Counts toward the 200 bytes of a tube
   * name.
   * @default ''
   */
  prefix?: string;
  /** Whether this process runs jobs. With `false` it only produces; its handlers are checked but not run. @default true */
  consume?: boolean;
  /** Handler defaults. @default concurrency 10, attempts 10, backoff exponential from 2 s to 1 h, jitter 0.2 */
  handlers?: Omit<HandlerOptions, 'cluster' | 'deadLetters' | 'keepDone' | 'limit'>;
  /** How long a shutdown waits for running handlers before it aborts their signals and hands their runs back. @default '10s' */
  shutdownTimeout?: Duration;
  /**
   * Retention of dead letters. About once a minute, each process removes letters of the tubes it consumes, with their copies:
   * those older than `maxAge` (at least a minute), and the oldest beyond `maxCount` per tube. Preferably the same in all
   * processes, since the strictest wins. Can be overridden per handler.
   * @default { maxAge: '30d', maxCount: 10_000 }
   */
  deadLetters?: RetentionOptions;
  /**
   * Whether waiting jobs are listed in Redis, at some 240 bytes a job, so that they can be inspected and found by id: at most
   * `most` jobs per tube, 0 to 100,000,000; `true` means 1,000,000. Listing happens after the add, which never waits for it or
   * fails because of it. With `false` this process lists nothing, and `revokeMany`, `rescheduleMany` and `repair` fail. An
   * embedded node lists its own jobs regardless.
   * @default true
   */
  index?: boolean | { most?: number };
  /**
   * Whether jobs that are missing copies, for example after a node lost its disk, are repaired automatically: one elected process
   * looks for them and does what `DqControl.repair` does. Set it the same in all processes, since the elected one decides.
   * Without an index, with one copy per job, or on an embedded node there is nothing to repair.
   * @default true
   */
  repair?: boolean;
  /**
   * Whether the ledger keeps the errors of a job's last attempts while the job is retried, for `DqInspector.explain`, the
   * dashboard and the command line: at most 3, each with up to 300 characters of name and message, without a stack. They vanish
   * once the job is done, revoked, moved or revived; a dead letter keeps them. With `false`, jobs run by this process keep none.
   * @default true
   */
  keepErrors?: boolean;
  /**
   * Whether the ledger keeps completed jobs, for `DqInspector.finished`, the dashboard and the command line: when each ended, how
   * long it took, in which process, its attempt, and its result if that is short. At most `max` per tube, 10,000 unless given,
   * for `for`, a week unless given. Can be overridden per handler.
   * @default false
   */
  keepDone?: KeepDoneOptions | false;
  /**
   * Whether this process passes its events `completed`, `dead` and `expired` on to the other processes, and may listen to theirs
   * with `scope: 'cluster'`. Costs a call to Redis for up to 100 of them. Set it the same in all processes. @default false
   */
  clusterEvents?: boolean;
  /**
   * A run that starts this much later than due emits the event `late`. An idle cluster takes a few milliseconds, or two seconds
   * and more if the primary's node is away, so the default shows both a backlog and a missing node.
   * @default '1s'
   */
  lateAfter?: Duration;
  /**
   * Seals jobs, so that nobody without the keys can read or change them, or make a handler run. All processes need the keys.
   * @default not sealed
   */
  seal?: SealOptions;
  /** Hooks that carry context from where jobs are scheduled to where they run; the first is outermost. @default none */
  hooks?: readonly DqHooks[];
  /** Logger for warnings and failures; lines of a named cluster begin with its name. @default Nest's logger with the context 'Dq' */
  logger?: LoggerService;
  /** Log levels of frequent events. @default { retries: 'warn', discards: 'warn', deadLetters: 'error', servers: 'warn' } */
  logLevels?: DqLogLevels;
  /** Settings that hardly any application changes. @default see DqAdvancedOptions */
  advanced?: DqAdvancedOptions;
}

/** Options after validation, with defaults applied. */
export interface ResolvedOptions
  extends
    Milliseconds,
    Required<Pick<DqOptions, 'prefix' | 'consume' | 'repair' | 'keepErrors' | 'clusterEvents'>> {
  /** Undefined for an embedded node and ledger. */
  readonly servers?: Servers;
  /** Storage folder of the embedded node and ledger. Undefined if in memory. */
  readonly folder?: Folder;
  /** Whether `'memory'` was set explicitly. */
  readonly memory: boolean;
  readonly replicas: number;
  readonly minWritten: number;
  /** Whether `replicas: 1` was set explicitly. */
  readonly oneCopyWanted: boolean;
  readonly handlers: HandlerSettings;
  readonly deadLetters: Retention;
  /** Undefined if no completed jobs are kept. */
  readonly keepDone: KeepDone | undefined;
  /** Max listed jobs per tube. 0 if there is no index. */
  readonly mostIndexed: number;
  /** Undefined if jobs are not sealed. */
  readonly seal: Seal | undefined;
  readonly hooks: readonly DqHooks[];
  readonly logger: LoggerService;
  readonly logLevels: Required<DqLogLevels>;
  /** Whether to warn about how the application is set up. The test kit doesn't. */
  readonly advise: boolean;
}

type Durations = 'patience' | 'shutdownTimeout' | 'lateAfter';
type Milliseconds = { readonly [Name in Durations | keyof DqAdvancedOptions]: number };

const DEFAULTS = {
  replicas: 3,
  minWritten: 2,
  patience: '5s',
  prefix: '',
  consume: true,
  handlers: {},
  shutdownTimeout: '10s',
  deadLetters: {},
  index: true,
  repair: true,
  keepErrors: true,
  keepDone: false,
  clusterEvents: false,
  lateAfter: '1s',
  hooks: [],
  advanced: {},
} satisfies DqOptions;

const ADVANCED_DEFAULTS = {
  backupDelay: '2s',
  lease: '15s',
  doneTtl: '10m',
  staleAfter: '7d',
} satisfies DqAdvancedOptions;

/** Names of the options in `advanced`. */
export const ADVANCED_NAMES = Object.keys(ADVANCED_DEFAULTS) as readonly (keyof DqAdvancedOptions)[];

/** Options that have had another name or place, with where they are now. */
const MOVED: Readonly<Record<string, string>> = {
  drainLimit: 'shutdownTimeout',
  ...Object.fromEntries(ADVANCED_NAMES.map((name) => [name, `advanced.${name}`])),
};

/** Names of all options. */
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
/** The ledger tracks a job's copies as bits of one number. */
const MAX_REPLICAS = 16;
/** Default: 30 days. */
const RETENTION: Retention = { maxAge: 30 * 86_400 * SECOND, maxCount: 10_000 };

/**
 * Validates all options and applies defaults; `DQ_CONFIG`. `defaultLogger` is a parameter because the CLI has its own and would
 * load Nest for nothing.
 */
export function resolveOptions(
  options: DqOptions,
  defaultLogger: LoggerService,
  cluster?: string,
  embeddedNodes = 1,
): ResolvedOptions {
  if (typeof options !== 'object' || options === null)
    throw wrong('the options of DqModule', options, 'an object');
  refuseUnknown(options);
  const servers = resolveServers(options);
  const folder = resolveFolder(options);
  const nodes = servers?.beanstalks.length ?? embeddedNodes;
  const given = { ...DEFAULTS, ...withoutUndefined(options) };

  const count = (name: 'replicas' | 'minWritten', most: number, why: string) =>
    options[name] === undefined ? Math.min(DEFAULTS[name], most) : checkCount(name, given[name], most, why);
  const mostReplicas = Math.min(nodes, MAX_REPLICAS);
  const why = nodes === mostReplicas ? 'the number of nodes' : 'the maximum';
  const replicas = count('replicas', mostReplicas, why);

  const duration = (name: Durations, least: number) => checkDuration(name, given[name], least);
  const prefix = checkPrefix(given.prefix);
  const log = { logger: defaultLogger, logLevels: DEFAULT_LOG_LEVELS };
  return {
    servers,
    folder,
    memory: options.embedded === 'memory',
    replicas,
    oneCopyWanted: options.replicas === 1,
    minWritten: count('minWritten', replicas, 'the number of replicas'),
    patience: duration('patience', 0),
    prefix,
    seal: resolveSeal(options.seal, prefix),
    consume: checkBoolean('consume', given.consume),
    handlers: asConfigError('`handlers`: ', () => resolveHandlerDefaults(given.handlers)),
    shutdownTimeout: duration('shutdownTimeout', 0),
    ...resolveAdvanced(given.advanced),
    deadLetters: asConfigError('', () => resolveRetention(given.deadLetters, RETENTION)),
    mostIndexed: resolveIndex(given.index, servers !== undefined),
    repair: checkBoolean('repair', given.repair),
    keepErrors: checkBoolean('keepErrors', given.keepErrors),
    keepDone: asConfigError('', () => resolveKeepDone(given.keepDone, undefined)),
    clusterEvents: checkBoolean('clusterEvents', given.clusterEvents),
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
        '`name` identifies the cluster, so pass it next to `useFactory`, not in what that returns',
      );
    }
    if (Object.hasOwn(MOVED, name))
      throw new DqError('DQ_CONFIG', `unknown option \`${name}\`: use \`${MOVED[name]}\``);
    const [shown] = Object.values(withoutSecrets({ [name]: value }) as object) as unknown[];
    throw unknownName('DQ_CONFIG', `option \`${name}\` (given ${show(shown)})`, OPTION_NAMES);
  }
}

function resolveAdvanced(options: DqAdvancedOptions): {
  readonly [Name in keyof DqAdvancedOptions]-?: number;
} {
  if (typeof options !== 'object' || options === null) throw wrong('`advanced`', options, 'an object');
  const unknown = Object.keys(options).find((name) => !(ADVANCED_NAMES as readonly string[]).includes(name));
  if (unknown !== undefined) throw unknownName('DQ_CONFIG', `\`advanced.${unknown}\``, ADVANCED_NAMES);
  const given = { ...ADVANCED_DEFAULTS, ...withoutUndefined(options) };
  const duration = (name: 'backupDelay' | 'lease' | 'staleAfter', least: number) =>
    checkDuration(`advanced.${name}`, given[name], least);
  const lease = duration('lease', 3 * SECOND);
  const staleAfter = duration('staleAfter', MINUTE);
  return {
    backupDelay: duration('backupDelay', SECOND),
    lease,
    doneTtl: resolveDoneTtl(given.doneTtl, lease, staleAfter),
    staleAfter,
  };
}

function resolveDoneTtl(given: DqAdvancedOptions['doneTtl'] & {}, lease: number, staleAfter: number): number {
  if (given === 'untilStale') return Math.max(keptAfter({ staleAfter }), 4 * lease);
  const doneTtl = checkDuration('advanced.doneTtl', given, MINUTE);
  if (doneTtl >= 4 * lease) return doneTtl;
  throw new DqError(
    'DQ_CONFIG',
    `\`advanced.doneTtl\` is ${doneTtl} ms: expected ${4 * lease} ms or more, which is four leases of ${lease} ms`,
  );
}

function withoutUndefined<T extends object>(options: T): T {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T;
}
