import type { Duration } from 'nest-handlers/time';
import type { Backoff, BackoffPlan } from '../time/backoff.js';
import type { DqError } from '../errors.js';
import type { Tube } from './tube.js';

/** The options of one job. */
export interface JobOptions {
  /**
   * Your own name for the job, 1 to 500 characters: at most one job of a tube waits under it. It is free again when the
   * job is done, revoked or dead. An add with a key needs Redis. `key: undefined` is `DQ_BAD_OPTION`.
   * @default none
   */
  key?: string;
  /** What to do if a job of this key waits or runs. @default 'replace' */
  onDuplicate?: OnDuplicate;
  /** The strict order among the due jobs of this tube, if there is a backlog. @default 'normal' */
  priority?: Priority;
  /** The most runs, with the first one and those that crashed. @default the handler's */
  attempts?: number;
  /** How long to wait after a failed run. @default the handler's */
  backoff?: BackoffPlan;
  /** Small texts that travel beside the payload: tenant, trace. Together at most 100,000 characters. @default none */
  headers?: Record<string, string>;
  /**
   * Whose job it is, 1 to 100 characters such as 'user-17': of the jobs of a tube with the same group so many run at the same
   * time as the handler's `limit.perGroup` says. The order of the jobs does not change. @default none
   */
  group?: string;
  /** An instant in the past runs now. @default false */
  allowPast?: boolean;
  /**
   * How long the add is tried again while servers are away and it is certain that nothing is stored. 0: it fails at once.
   * The delay of the job always counts from the call. @default the module's `patience`, 5 s
   */
  patience?: Duration;
}

/** How long a call waits for servers. */
export interface PatienceOptions {
  /** How long it is tried again while servers are away; 0: it fails at once. @default the module's `patience`, 5 s */
  patience?: Duration;
}

/** How a job is revoked. */
export interface RevokeOptions extends PatienceOptions {
  /** Asks a handler that runs the job to stop: its signal is raised within 5 s, in whatever process it runs. @default false */
  abort?: boolean;
  /**
   * The answer comes when every copy is deleted, or its node cannot be asked; that takes up to half a second more where a node is
   * away, and up to 5 s more where a consumer holds a copy. If it holds it for longer: `DQ_UNCONFIRMED`; the job is revoked, and the
   * same call confirms it later. With `false` the answer comes before, and if Redis loses all its data until the copies are deleted,
   * the job runs. @default false
   */
  confirmed?: boolean;
}

/**
 * `replace`: the new time and payload count; a run in progress goes on, without retries. `keep`: nothing is stored, and
 * the receipt is the present job's. `reject`: `DQ_DUPLICATE`.
 */
export type OnDuplicate = 'replace' | 'keep' | 'reject';

/** Order among the due jobs of a tube. */
export type Priority = 'high' | 'normal' | 'low';

/** What an add returns. Plain data: after JSON, which makes `dueAt` a text, it still finds the job. */
export interface JobReceipt {
  /** A ULID, or made from tube and key. */
  readonly id: string;
  /** One opaque text that finds the job again; keep it beside your row if you have no key. */
  readonly ref: JobRefText;
  /** Without the prefix. */
  readonly tube: string;
  /** As it was given. */
  readonly key?: string;
  /** When it runs. If `status` is `kept`, when the present job runs. */
  readonly dueAt: Date;
  /** How many nodes have confirmed their copy: from `minWritten` to `replicas`. */
  readonly copies: number;
  /**
   * `replaced`: a job of this key waited or ran, and was replaced. `kept`: such a job was left as it is, and this is its
   * receipt, because of `onDuplicate: 'keep'` or because another add of the key came in between.
   */
  readonly status: 'added' | 'replaced' | 'kept';
  /**
   * Of a tube that go-queue uses, too: the ids by which go-queue's own `Revoke` deletes the copies, `endpoint/tube/id,…`. Absent in other tubes.
   */
  readonly goQueueIds?: string;
}

/** The result of one job of many. */
export type AddResult =
  | { readonly receipt: JobReceipt; readonly error?: undefined }
  | { readonly receipt?: undefined; readonly error: DqError };

/**
 * The opaque text of a receipt, view, job or letter that finds the job again: some 300 characters that begin with `dq1.`, or with `dqs.`
 * and a tag where jobs are sealed.
 * It has its own type, so that a job's `id`, which finds nothing without its tube, cannot be given instead. Give a text from your database
 * as `{ ref: row.timer }`.
 */
export type JobRefText = string & { readonly '~finds': 'job' };

/**
 * A receipt (also after JSON), its `ref`, your key, or the job's id. A key means the job that is scheduled under it now. An id
 * finds a job without a key only while it waits and is listed (see the option `index`), and from its first run until its end
 * is forgotten.
 */
export type JobRef<In = any> =
  | JobRefText
  | { readonly ref: string }
  | { readonly tube: string | Tube<In>; readonly key: string }
  | { readonly tube: string | Tube<In>; readonly id: string };

/** The same for the jobs of one tube, as `producer.tube` takes it. */
export type TubeJobRef =
  JobRefText | { readonly ref: string } | { readonly key: string } | { readonly id: string };

/**
 * The result of a revoke. `revoked`: the job does not start any more. `running`: its run goes on, and nothing follows it.
 * `done`, `dead`: too late. `unknown`: its end was so long ago that the ledger has forgotten it.
 */
export type RevokeResult = 'revoked' | 'running' | 'done' | 'dead' | 'unknown';

/** `rescheduled`, or the state of the job that prevents it. `unknown`: it has no copy left, or no job has that key. */
export type RescheduleResult = 'rescheduled' | 'running' | 'done' | 'revoked' | 'dead' | 'unknown';

/**
 * `revived`, or why not. `replaced`: its key has had a newer job, so the letter stays. The others are the state of the job.
 * `revoked` also means that the letter was discarded. `unknown`: there is no such job, or its end is forgotten.
 */
export type ReviveResult =
  'revived' | 'replaced' | 'waiting' | 'retrying' | 'running' | 'done' | 'revoked' | 'unknown';

/** `discarded`, or the state of the job, as in a `ReviveResult`. */
export type DiscardResult = 'discarded' | 'waiting' | 'retrying' | 'running' | 'done' | 'revoked' | 'unknown';

/** What is known of a job. */
export interface JobView {
  /** `retrying`: it waits after a run that failed or was cut short. */
  readonly state: 'waiting' | 'running' | 'retrying' | 'done' | 'revoked' | 'dead';
  /** A ULID, or made from tube and key. */
  readonly id: string;
  /** Finds this job, even if it was looked up by its key. */
  readonly ref: JobRefText;
  /** Without the prefix of this module. */
  readonly tube: string;
  /** Absent for a plain job. */
  readonly key?: string;
  /** When it runs (next), or ran. */
  readonly dueAt: Date;
  /** Runs begun. */
  readonly attempt: number;
}

/**
 * A job as its handler sees it. A class, so that `import { DelayedJob }` works in decorated signatures;
 * made by the library only.
 */
export abstract class DelayedJob<P = unknown> {
  /** A ULID, or made from tube and key; the same in all runs. */
  abstract readonly id: string;
  /** Finds the same job as the receipt's `ref`. */
  abstract readonly ref: JobRefText;
  /** Without the prefix. */
  abstract readonly tube: string;
  /** Absent for a plain job. */
  abstract readonly key?: string;
  /** The first argument of the handler, before pipes: the payload after JSON, or the output of the tube's schema. */
  abstract readonly payload: P;
  /** The headers of the add and those that hooks wrote; {} if there are none. */
  abstract readonly headers: Readonly<Record<string, string>>;
  /** The option of its add; absent if it has no group. */
  abstract readonly group?: string;
  /**
   * When this run was due. The same for the run that takes its place after a shutdown, a crash or a pause. A retry has its own
   * time: that of its backoff.
   */
  abstract readonly dueAt: Date;
  /** Milliseconds from `dueAt` to the start of this run. */
  abstract readonly lateness: number;
  /** 1 on the first run. */
  abstract readonly attempt: number;
  /** The most runs that there can be. */
  abstract readonly attempts: number;
  /**
   * Grows with each run of the job: store it with what you write, and refuse a smaller one. An integer of 16 digits, microseconds since
   * 1970 or a little more, so a safe integer in JavaScript, and too large for 32 bits: its column is a BIGINT.
   */
  abstract readonly fence: number;
  /** Aborts with a DqError as its reason: `DQ_TIMEOUT`, `DQ_SHUTDOWN`, `DQ_REVOKED` or `DQ_LEASE_LOST`. */
  abstract readonly signal: AbortSignal;
}

/** An `Outcome`, or a promise of one, says what follows. Any other result means done. To throw is a failure. */
export type HandlerResult = unknown;

/** The function that runs a tube's jobs: a decorated method, or one given to `DqConsumer.consume`. */
export type HandlerMethod<Out = any> = (payload: Out, job: DelayedJob<Out>) => HandlerResult;

/** How the jobs of one handler are run in this process. */
export interface HandlerOptions {
  /** The cluster whose jobs it runs, by its name in `DqModule.forRoot`. @default the one without a name */
  cluster?: string;
  /** How many runs this process has at the same time. @default 10 */
  concurrency?: number;
  /** The most runs, with the first one and those that crashed; then a dead letter. A run that a shutdown ends does not count. @default 10 */
  attempts?: number;
  /** How long to wait after a failed run. @default exponential, from 2 s to 1 h, jitter 0.2 */
  backoff?: Backoff;
  /** A longer run is a failure: its signal aborts, and a retry or a dead letter follows. @default none */
  timeout?: Duration;
  /** How many runs of this tube begin in a time, and go on at the same time, in all processes together. @default no limit */
  limit?: LimitOptions;
  /** How long the dead letters of this tube stay. What it does not say is the module's. @default the module's `deadLetters` */
  deadLetters?: RetentionOptions;
}

/**
 * Limits of the runs of one tube, in all processes of its prefix together: at least one of `rate`, `concurrency` and `perGroup`.
 * Give all processes the same ones, as each goes by its own. A job that a limit holds back waits, and that costs no attempt.
 * docs/limits.md says what is counted.
 * @example
 * { rate: 100 } // 100 runs begin in a second, one every 10 ms
 * { rate: 600, per: '1m', burst: 50 } // 10 in a second on average, and up to 50 at once after a quiet time
 * { concurrency: 5 } // 5 runs at the same time
 * { perGroup: 1 } // one run at a time of the jobs with the same `group`
 */
export interface LimitOptions {
  /** So many runs begin in the time `per`, evenly; retries count, too. */
  rate?: number;
  /** The time of `rate`. @default '1s' */
  per?: Duration;
  /** So many of them may begin at once after a time in which fewer began than `rate` allows. @default 1 */
  burst?: number;
  /** So many runs go on at the same time. The handler's own `concurrency`, of each process, is this at most. */
  concurrency?: number;
  /** So many runs of jobs with the same `group` go on at the same time. Jobs without a group are not limited by it. */
  perGroup?: number;
}

/** How long dead letters stay. */
export interface RetentionOptions {
  /** Older letters are removed; at least a minute. */
  maxAge?: Duration;
  /** If a tube has more letters, the oldest are removed. */
  maxCount?: number;
}
