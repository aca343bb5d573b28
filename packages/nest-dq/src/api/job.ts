import type { Backoff, BackoffPlan } from '../time/backoff.js';
import type { DqError } from '../errors.js';
import type { Duration } from '../time/duration.js';
import type { When } from '../time/instant.js';
import type { Tube } from './tube.js';

/** What a producer may say of one job. */
export interface JobOptions {
  /**
   * Your own name for the job, 1 to 500 characters: at most one job of a tube waits under it. It is free again when the
   * job is done, revoked or dead. An add with a key needs Redis. One that is given and undefined is `DQ_BAD_OPTION`.
   * @default none
   */
  key?: string;
  /** When a job of this key waits or runs. @default 'replace' */
  onDuplicate?: OnDuplicate;
  /** Order among due jobs of this tube under a backlog; strict. @default 'normal' */
  priority?: Priority;
  /** Runs at most, the first and crashed ones included. @default the handler's */
  attempts?: number;
  /** How long to wait after a failed run. @default the handler's */
  backoff?: BackoffPlan;
  /** Small texts that travel beside the payload: tenant, trace. @default none */
  headers?: Record<string, string>;
  /** An instant in the past runs now. @default false */
  allowPast?: boolean;
  /**
   * How long the add goes on trying while servers are away and nothing of it is stored for certain; 0: it fails at once. Its
   * delay counts from the call in any case. @default the module's `patience`, 5 s
   */
  patience?: Duration;
}

/** How long a call waits for servers. */
export interface PatienceOptions {
  /** How long it goes on trying while servers are away; 0: it fails at once. @default the module's `patience`, 5 s */
  patience?: Duration;
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
  /** When it runs; that of a `kept` receipt is the present job's. */
  readonly dueAt: Date;
  /** How many nodes have confirmed their copy: from `minWritten` to `replicas`. */
  readonly copies: number;
  /**
   * `replaced`: a job of this key waited or ran, and gave way. `kept`: one did, and this is its receipt: with
   * `onDuplicate: 'keep'`, or when another add of the key came in between.
   */
  readonly status: 'added' | 'replaced' | 'kept';
}

/** What became of one job of many. */
export type AddResult =
  | { readonly receipt: JobReceipt; readonly error?: undefined }
  | { readonly receipt?: undefined; readonly error: DqError };

/**
 * The opaque text of a receipt, view, job or letter that finds the job again: some 300 characters that begin with `dq1.`.
 * A text of its own type, so that a job's `id`, which finds nothing, does not pass for it. One that comes back from your
 * database is given as `{ ref: row.timer }`.
 */
export type JobRefText = string & { readonly '~finds': 'job' };

/** A receipt (also after JSON), its `ref`, or your key, which means the job that is scheduled under it now. */
export type JobRef<In = any> =
  JobRefText | { readonly ref: string } | { readonly tube: string | Tube<In>; readonly key: string };

/** The same within one tube, as `producer.tube` knows it: of a job of that tube. */
export type TubeJobRef = JobRefText | { readonly ref: string } | { readonly key: string };

/**
 * What became of a revoke. `revoked`: no later start happens. `running`: that run goes on, and nothing follows it.
 * `done`, `dead`: too late. `unknown`: its end is longer ago than is remembered, so it is too late to say.
 */
export type RevokeResult = 'revoked' | 'running' | 'done' | 'dead' | 'unknown';

/** `rescheduled`, or why not: what the job is. `unknown`: no copy of it is left, or no job has that key. */
export type RescheduleResult = 'rescheduled' | 'running' | 'done' | 'revoked' | 'dead' | 'unknown';

/**
 * `revived`, or why not. `replaced`: its key has had a newer job, so the letter stays. The others are what the job is:
 * `revoked` also when it was discarded; `unknown` when no job is known, or its end is longer ago than is remembered.
 */
export type ReviveResult =
  'revived' | 'replaced' | 'waiting' | 'retrying' | 'running' | 'done' | 'revoked' | 'unknown';

/** `discarded`, or what the job is, as in a `ReviveResult`. */
export type DiscardResult = 'discarded' | 'waiting' | 'retrying' | 'running' | 'done' | 'revoked' | 'unknown';

/** What is known of a job. */
export interface JobView {
  /** `retrying`: it waits, after a run that failed or was cut short. */
  readonly state: 'waiting' | 'running' | 'retrying' | 'done' | 'revoked' | 'dead';
  /** A ULID, or made from tube and key. */
  readonly id: string;
  /** Finds this very job, also where it was looked for by its key. */
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
  /** What the receipt's `ref` finds, too. */
  abstract readonly ref: JobRefText;
  /** Without the prefix. */
  abstract readonly tube: string;
  /** Absent for a plain job. */
  abstract readonly key?: string;
  /** What the handler gets first, before pipes: as JSON left it, or what the tube's schema made of that. */
  abstract readonly payload: P;
  /** Those of the add, with what hooks wrote; {} if there are none. */
  abstract readonly headers: Readonly<Record<string, string>>;
  /** When this run was due: a retry's own time. */
  abstract readonly dueAt: Date;
  /** Milliseconds from `dueAt` to the start of this run. */
  abstract readonly lateness: number;
  /** 1 on the first run. */
  abstract readonly attempt: number;
  /** The most there will be. */
  abstract readonly attempts: number;
  /** Grows with each run of the job: store it with what you write, and refuse a smaller one. */
  abstract readonly fence: number;
  /** Aborts with a DqError as its reason: `DQ_TIMEOUT`, `DQ_SHUTDOWN`, `DQ_REVOKED` or `DQ_LEASE_LOST`. */
  abstract readonly signal: AbortSignal;
}

/** An `Outcome`, or a promise of one: that. Throwing: a failure. Anything else: done. */
export type HandlerResult = unknown;

/** What runs a tube's jobs: a decorated method, or a function given to `DqConsumer.consume`. */
export type HandlerMethod<Out = any> = (payload: Out, job: DelayedJob<Out>) => HandlerResult;

/** How the jobs of one handler are run in this process. */
export interface HandlerOptions {
  /** The name of the cluster whose jobs it runs, as given to `DqModule.forRoot`. @default the one without a name */
  cluster?: string;
  /** Runs at once in this process. @default 10 */
  concurrency?: number;
  /** Runs at most, the first and crashed ones included; then a dead letter. A run ended by shutdown does not count. @default 10 */
  attempts?: number;
  /** How long to wait after a failed run. @default exponential, from 2 s to 1 h, jitter 0.2 */
  backoff?: Backoff;
  /** A run that takes longer is a failure: its signal aborts, and a retry or a dead letter follows. @default none */
  timeout?: Duration;
}

/** What a handler returns or throws to say more than «done» or «failed». */
export abstract class Outcome extends Error {
  /** Which of the three. */
  abstract readonly '~outcome': 'retry' | 'again' | 'discard';
}

/** It failed: once more after this delay instead of the backoff's. Counts as an attempt. */
export class Retry extends Outcome {
  /** Which of the three. */
  readonly '~outcome' = 'retry';

  private constructor(
    /** From the end of this run. */
    readonly delay: Duration,
    cause: unknown,
  ) {
    super(`retry after ${String(delay)}`, cause === undefined ? undefined : { cause });
    this.name = 'Retry';
  }

  /**
   * Where no attempt is left, a dead letter. A wrong delay is a failure like any other, `DQ_BAD_DURATION`.
   * @param cause Why, for events and the dead letter.
   */
  static after(delay: Duration, cause?: unknown): Retry {
    return new Retry(delay, cause);
  }
}

/**
 * It went well but is not over: the same job, key and payload run then, and attempts begin anew. For polling, stages, and
 * what recurs.
 */
export class Again extends Outcome {
  /** Which of the three. */
  readonly '~outcome' = 'again';

  private constructor(
    /** A delay from the end of this run, or an instant. */
    readonly when: { readonly delay: Duration } | { readonly at: When },
  ) {
    super('again');
    this.name = 'Again';
  }

  /** The delay counts from the end of this run. A wrong one is a failure, `DQ_BAD_DURATION`. */
  static after(delay: Duration): Again {
    return new Again({ delay });
  }

  /** An instant that is over runs a second after this run was due, or at once where that is over, too. What is no instant is a failure, `DQ_BAD_TIME`. */
  static at(when: When): Again {
    return new Again({ at: when });
  }
}

/** It never will: a dead letter at once, with this reason. */
export class Discard extends Outcome {
  /** Which of the three. */
  readonly '~outcome' = 'discard';

  private constructor(
    /** Why, as it was given. */
    readonly reason: string,
  ) {
    super(reason);
    this.name = 'Discard';
  }

  /** The dead letter has the reason as its error's message. */
  static because(reason: string): Discard {
    return new Discard(reason);
  }
}
