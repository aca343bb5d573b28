import type { BackoffPlan, Duration } from './time.js';

/** What a producer may say of one job. */
export interface JobOptions {
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
}

/** Order among the due jobs of a tube. */
export type Priority = 'high' | 'normal' | 'low';

/** What an add returns. Plain data: after JSON, which makes `dueAt` a text, it still finds the job. */
export interface JobReceipt {
  /** A ULID. */
  readonly id: string;
  /** One opaque text that finds the job again; keep it beside your row. */
  readonly ids: string;
  /** Without the prefix. */
  readonly tube: string;
  readonly dueAt: Date;
  /** How many nodes have confirmed their copy: from `minWritten` to `replicas`. */
  readonly copies: number;
}

/** A receipt (also after JSON), or its `ids`. */
export type JobRef = string | { readonly ids: string };

/**
 * What became of a revoke. `revoked`: no later start happens. `running`: that run goes on, and nothing follows it.
 * `done`, `dead`: too late. `unknown`: its end is longer ago than is remembered, so it is too late to say.
 */
export type RevokeResult = 'revoked' | 'running' | 'done' | 'dead' | 'unknown';

/**
 * A job as its handler sees it. A class, so that `import { DelayedJob }` works in decorated signatures;
 * made by the library only.
 */
export abstract class DelayedJob<P = unknown> {
  abstract readonly id: string;
  /** What the receipt's `ids` finds, too. */
  abstract readonly ids: string;
  /** Without the prefix. */
  abstract readonly tube: string;
  abstract readonly payload: P;
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
  /** Aborts with a DqError as its reason: `DQ_SHUTDOWN` or `DQ_LEASE_LOST`. */
  abstract readonly signal: AbortSignal;
}

/** An `Outcome`, or a promise of one: that. Throwing: a failure. Anything else: done. */
export type HandlerResult = unknown;

/** What runs a tube's jobs: a decorated method, or a function given to `DqConsumer.consume`. */
export type HandlerMethod<Out = any> = (payload: Out, job: DelayedJob<Out>) => HandlerResult;

/** How the jobs of one handler are run in this process. */
export interface HandlerOptions {
  /** Runs at once in this process. @default 10 */
  concurrency?: number;
  /** Runs at most, the first and crashed ones included; then a dead letter. A run ended by shutdown does not count. @default 10 */
  attempts?: number;
  /** How long to wait after a failed run. @default exponential, from 2 s to 1 h, jitter 0.2 */
  backoff?: BackoffPlan;
}

/** What a handler returns or throws to say more than «done» or «failed». */
export abstract class Outcome extends Error {
  abstract readonly '~outcome': 'retry' | 'discard';
}

/** It failed: once more after this delay instead of the backoff's. Counts as an attempt. */
export class Retry extends Outcome {
  readonly '~outcome' = 'retry';

  private constructor(
    readonly delay: Duration,
    cause: unknown,
  ) {
    super(`retry after ${String(delay)}`, cause === undefined ? undefined : { cause });
    this.name = 'Retry';
  }

  static after(delay: Duration, cause?: unknown): Retry {
    return new Retry(delay, cause);
  }
}

/** It never will: a dead letter at once, with this reason. */
export class Discard extends Outcome {
  readonly '~outcome' = 'discard';

  private constructor(readonly reason: string) {
    super(reason);
    this.name = 'Discard';
  }

  static because(reason: string): Discard {
    return new Discard(reason);
  }
}
