import type { Duration, When } from 'nest-handlers/time';
import type { Backoff, BackoffPlan } from '../time/backoff.js';
import type { DqError } from '../errors.js';
import type { Tube } from './tube.js';

/** Options of one job. */
export interface JobOptions {
  /**
   * Your own name for the job, 1 to 500 characters: at most one job of a tube can wait under it. Free again once the job is done,
   * revoked or dead. Adding with a key needs Redis. `key: undefined` is `DQ_BAD_OPTION`.
   * @default none
   */
  key?: string;
  /** Action if a job with this key is waiting or running. @default 'replace' */
  onDuplicate?: OnDuplicate;
  /** Strict priority among the due jobs of this tube when there is a backlog. @default 'normal' */
  priority?: Priority;
  /** Max runs, including the first and any that crashed. @default the handler's */
  attempts?: number;
  /** Delay after a failed run. @default the handler's */
  backoff?: BackoffPlan;
  /** Small strings that travel with the payload, such as tenant or trace. At most 100,000 characters in total. @default none */
  headers?: Record<string, string>;
  /**
   * Owner of the job, 1 to 100 characters such as 'user-17'. At most `limit.perGroup` (a handler option) jobs of a tube with the
   * same group run at once. The order of jobs does not change. @default none
   */
  group?: string;
  /**
   * Latest start of the job's runs, retries included, counted from its due time. A job not started by then never starts: it ends as
   * `expired`. Moves with the job when it is rescheduled. @default the handler's
   */
  expireAfter?: Duration;
  /** The same as a fixed time, which must be later than the due time. Not with `expireAfter`. @default the handler's `expireAfter` */
  expireAt?: When;
  /** Run a job whose time is in the past now, instead of rejecting it. @default false */
  allowPast?: boolean;
  /**
   * How long to retry the add while servers are away and it is certain that nothing was stored; 0 fails at once. The job's delay
   * always counts from the call. @default the module's `patience`, 5 s
   */
  patience?: Duration;
}

/** One of the jobs of `addMany`: its options, its payload, and `delay` or `at`. Without either, it runs as soon as possible. */
export type NewJob<In = unknown> = JobOptions & { payload: In } & (
    | { delay?: Duration; at?: undefined }
    | { delay?: undefined; at: When }
  );

/** Options of a debounced or throttled job. */
export type PacedOptions = Omit<JobOptions, 'key' | 'onDuplicate' | 'allowPast'> & { key: string };

/** How long a call waits for servers that are away. */
export interface PatienceOptions {
  /** How long to retry while servers are away; 0 fails at once. @default the module's `patience`, 5 s */
  patience?: Duration;
}

/** Options of a revoke. */
export interface RevokeOptions extends PatienceOptions {
  /** Ask a handler that is running the job to stop: its signal aborts within 5 s, in whichever process it runs. @default false */
  abort?: boolean;
  /**
   * Resolve only once every copy is deleted or its node is unreachable. That takes up to half a second longer if a node is away,
   * and up to 5 s longer if a consumer holds a copy. If it's held for longer, the call rejects with `DQ_UNCONFIRMED`: the job is
   * revoked, and the same call confirms it later. With `false` the call resolves earlier, and if Redis loses all its data before
   * the copies are deleted, the job runs. @default false
   */
  confirmed?: boolean;
}

/**
 * `replace`: the new time and payload apply; a run in progress finishes, without retries. `keep`: nothing is stored, and the
 * receipt is the existing job's. `reject`: `DQ_DUPLICATE`.
 */
export type OnDuplicate = 'replace' | 'keep' | 'reject';

/** Priority among the due jobs of a tube. */
export type Priority = 'high' | 'normal' | 'low';

/** Result of an add. Plain data: it still finds the job after JSON, which turns `dueAt` into a string. */
export interface JobReceipt {
  /** A ULID, or derived from tube and key. */
  readonly id: string;
  /** Opaque string that finds the job again; store it with your row if you have no key. */
  readonly ref: JobRefText;
  /** Tube name without the prefix. */
  readonly tube: string;
  /** The key as given. */
  readonly key?: string;
  /** When the job runs; for status `kept`, when the existing job runs. */
  readonly dueAt: Date;
  /** Number of nodes that confirmed their copy, from `minWritten` to `replicas`. */
  readonly copies: number;
  /**
   * `replaced`: a job with this key was waiting or running, and was replaced. `kept`: that job was left as it is and this is its
   * receipt, either because of `onDuplicate: 'keep'` or because another add with the key got in first.
   */
  readonly status: 'added' | 'replaced' | 'kept';
  /** Ids with which go-queue's own `Revoke` deletes the copies, `endpoint/tube/id,…`. Only for tubes shared with go-queue. */
  readonly goQueueIds?: string;
}

/** Result of one job of `addMany`. */
export type AddResult =
  | { readonly receipt: JobReceipt; readonly error?: undefined }
  | { readonly receipt?: undefined; readonly error: DqError };

/**
 * Opaque string of a receipt, view, job or letter that finds the job again: some 300 characters beginning with `dq1.`, or with
 * `dqs.` and a tag if jobs are sealed. It has its own type, so that a job's `id`, which is useless without its tube, can't be
 * passed by mistake. Pass a string from your database as `{ ref: row.timer }`.
 */
export type JobRefText = string & { readonly '~finds': 'job' };

/**
 * A receipt (also after JSON), its `ref`, your key, or the job's id. A key means the job currently scheduled under it. An id
 * finds a job without a key only while it waits and is listed (see the option `index`), and from its first run until its end is
 * forgotten.
 */
export type JobRef<In = any> =
  | JobRefText
  | { readonly ref: string }
  | { readonly tube: string | Tube<In>; readonly key: string }
  | { readonly tube: string | Tube<In>; readonly id: string };

/** A `JobRef` for the jobs of one tube, as `producer.tube` accepts it. */
export type TubeJobRef =
  | JobRefText
  | { readonly ref: string }
  | { readonly key: string }
  | { readonly id: string };

/**
 * Result of a revoke. `revoked`: the job won't start any more. `running`: its run continues, but nothing follows it. `done`,
 * `dead`, `expired`: too late. `unknown`: it ended so long ago that the ledger has forgotten it.
 */
export type RevokeResult = 'revoked' | 'running' | 'done' | 'dead' | 'expired' | 'unknown';

/** `rescheduled`, or the state of the job that prevents it. `unknown`: the job has no copy left, or no job has that key. */
export type RescheduleResult =
  | 'rescheduled'
  | 'running'
  | 'done'
  | 'revoked'
  | 'dead'
  | 'expired'
  | 'unknown';

/**
 * `revived`, or the reason it wasn't. `replaced`: its key has a newer job, so the letter stays. The others are the state of the
 * job; `revoked` also means that the letter was discarded. `unknown`: there is no such job, or its end is forgotten.
 */
export type ReviveResult =
  | 'revived'
  | 'replaced'
  | 'waiting'
  | 'retrying'
  | 'running'
  | 'done'
  | 'revoked'
  | 'expired'
  | 'unknown';

/** `discarded`, or the state of the job, as in `ReviveResult`. */
export type DiscardResult =
  | 'discarded'
  | 'waiting'
  | 'retrying'
  | 'running'
  | 'done'
  | 'revoked'
  | 'expired'
  | 'unknown';

/** Current state of a job. */
export interface JobView {
  /** `retrying`: waiting after a run that failed or was cut short. `expired`: it had not started by its expiry. */
  readonly state: 'waiting' | 'running' | 'retrying' | 'done' | 'revoked' | 'dead' | 'expired';
  /** A ULID, or derived from tube and key. */
  readonly id: string;
  /** Finds this job, even if it was looked up by its key. */
  readonly ref: JobRefText;
  /** Tube name without the prefix of this module. */
  readonly tube: string;
  /** Absent for a plain job. */
  readonly key?: string;
  /** When the job runs next, or ran. */
  readonly dueAt: Date;
  /** Number of runs started. */
  readonly attempt: number;
  /**
   * Last progress its handler reported, at most a second old: only while it runs, and only of this attempt. `fraction`: 0 to 1.
   * `note`: absent if none was given, or the cluster encrypts its jobs. `at`: time of the report, by the ledger's clock.
   */
  readonly progress?: { readonly fraction: number; readonly note?: string; readonly at: Date };
}

/**
 * A job as its handler sees it. A class, so that `import { DelayedJob }` works in decorated signatures; only the library creates
 * instances.
 */
export abstract class DelayedJob<P = unknown> {
  /** A ULID, or derived from tube and key; the same for all runs. */
  abstract readonly id: string;
  /** Finds the same job as the receipt's `ref`. */
  abstract readonly ref: JobRefText;
  /** Tube name without the prefix. */
  abstract readonly tube: string;
  /** Absent for a plain job. */
  abstract readonly key?: string;
  /** The handler's first argument, before pipes: the payload after JSON, or the output of the tube's schema. */
  abstract readonly payload: P;
  /** Headers from the add and those set by hooks; `{}` if none. */
  abstract readonly headers: Readonly<Record<string, string>>;
  /** The `group` option of the add; absent if none. */
  abstract readonly group?: string;
  /**
   * When this run was due. Unchanged for a run that replaces one interrupted by a shutdown, a crash or a pause. A retry has its
   * own due time, from its backoff.
   */
  abstract readonly dueAt: Date;
  /** Time from `dueAt` to the start of this run, in ms. */
  abstract readonly lateness: number;
  /** Number of this run, from 1. */
  abstract readonly attempt: number;
  /** Max runs. */
  abstract readonly attempts: number;
  /**
   * Fencing token that grows with each run of the job: store it with what you write, and reject a smaller one. A 16-digit
   * integer, microseconds since 1970 or slightly more: safe in JavaScript but too large for 32 bits, so use a BIGINT column.
   */
  abstract readonly fence: number;
  /** Aborts with a DqError as its reason: `DQ_TIMEOUT`, `DQ_SHUTDOWN`, `DQ_REVOKED` or `DQ_LEASE_LOST`. */
  abstract readonly signal: AbortSignal;

  /**
   * Reports how far this run is, for people to see: on the dashboard, in `DqProducer.find`, and with a finished job that is kept.
   * The latest report counts, and it's written in the background, at most once a second. Nothing depends on it: while Redis is
   * away, reports are lost.
   * @param fraction 0 to 1. Anything else throws `DQ_BAD_OPTION`, including the NaN of `0 / 0`.
   * @param note Cut after 200 characters.
   */
  abstract progress(fraction: number, note?: string): void;
}

/**
 * The function that runs a tube's jobs: a decorated method, or one passed to `DqConsumer.consume`. An `Outcome` it returns, or a
 * promise of one, decides what follows. Any other result means done; throwing is a failure.
 */
export type HandlerMethod<Out = any> = (payload: Out, job: DelayedJob<Out>) => unknown;

/**
 * The function that runs the jobs of a tube in batches: a payload and its job have the same index in both lists. An `Outcome` it
 * returns or throws applies to all jobs, and so does any other error it throws. If it returns an array, an `Outcome` or an Error
 * in it applies to the job at its index; results of `Promise.allSettled` are understood, too. Anything else means that all are
 * done. Further parameters of a decorated method need a parameter decorator.
 */
export type BatchHandlerMethod<Out = any> = (
  payloads: Out[],
  jobs: readonly DelayedJob<Out>[],
  ...decorated: any[]
) => unknown;

/** How this process runs the jobs of one handler. */
export interface HandlerOptions {
  /** Cluster whose jobs it runs, by its name in `DqModule.forRoot`. @default the unnamed cluster */
  cluster?: string;
  /** Max concurrent runs in this process; with `batch`, max concurrent batches. @default 10 */
  concurrency?: number;
  /**
   * Max runs, including the first and any that crashed; then the job becomes a dead letter. A run ended by a shutdown does not
   * count. @default 10
   */
  attempts?: number;
  /** Delay after a failed run. @default exponential, from 2 s to 1 h, jitter 0.2 */
  backoff?: Backoff;
  /** Max duration of a run. A longer one fails: its signal aborts, and a retry or a dead letter follows. @default none */
  timeout?: Duration;
  /** Latest start of the runs of jobs that have no expiry of their own, counted from their due time. @default none */
  expireAfter?: Duration;
  /** Fate of an expired job: `end` ends it as `expired`, `letter` makes it a dead letter. @default 'end' */
  onExpired?: 'end' | 'letter';
  /** Rate and concurrency limits of this tube across all processes. @default no limit */
  limit?: LimitOptions;
  /** Retention of this tube's dead letters. Missing fields fall back to the module setting. @default the module's `deadLetters` */
  deadLetters?: RetentionOptions;
  /**
   * Whether the ledger keeps this tube's completed jobs, for people to look up. Missing fields fall back to the module setting;
   * `false` keeps none. @default the module's `keepDone`
   */
  keepDone?: KeepDoneOptions | false;
}

/** Options of a handler that takes batches: see docs/batches.md. */
export interface BatchHandlerOptions extends HandlerOptions {
  /**
   * Makes the method a `BatchHandlerMethod`. `size`: max jobs of a batch, 1 to 1,000. `wait`: how long an incomplete batch waits to
   * fill up, counted from when its first job came due here, 0 to a second; 200 ms by default.
   */
  batch: { size: number; wait?: Duration };
}

/**
 * Limits on the runs of one tube, across all processes with its prefix: at least one of `rate`, `concurrency` and `perGroup`. Use
 * the same limits in all processes, since each applies its own. A job held back by a limit waits, without using up an attempt.
 * See docs/limits.md for what is counted.
 * @example
 * { rate: 100 } // 100 runs start per second, one every 10 ms
 * { rate: 600, per: '1m', burst: 50 } // 10 per second on average, and up to 50 at once after a quiet period
 * { concurrency: 5 } // 5 runs at the same time
 * { perGroup: 1 } // one run at a time of the jobs with the same `group`
 */
export interface LimitOptions {
  /** Max runs started per `per`, evenly spaced. Retries count. */
  rate?: number;
  /** Period of `rate`. @default '1s' */
  per?: Duration;
  /** Max runs started at once after a period with fewer starts than `rate` allows. @default 1 */
  burst?: number;
  /** Max concurrent runs. Caps the handler's own per-process `concurrency`. */
  concurrency?: number;
  /** Max concurrent runs of jobs with the same `group`. Does not limit jobs without a group. */
  perGroup?: number;
}

/** Which completed jobs are kept, for people to look up: see docs/finished-jobs.md. */
export interface KeepDoneOptions {
  /** How long, at least a minute. @default '7d' */
  for?: Duration;
  /** Max jobs per tube, the newest: 1 to 1,000,000. @default 10,000 */
  max?: number;
  /** Whether with the result of the handler, if that is JSON of at most 1,000 characters. @default true */
  result?: boolean;
}

/** Retention of dead letters. */
export interface RetentionOptions {
  /** Max age of a letter, at least a minute; older ones are removed. */
  maxAge?: Duration;
  /** Max letters per tube; the oldest beyond that are removed. */
  maxCount?: number;
}
