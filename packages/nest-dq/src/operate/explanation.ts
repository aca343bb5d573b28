import type { DeadLetter, FailedAttempt } from '../api/dead-letter.js';
import type { FinishedJob } from './finished-view.js';
import type { JobRefText, JobView, Priority } from '../api/job.js';

/** Since when a job that hasn't run is overdue. */
export interface DueSince {
  /** Due time by the ledger's clock. Absent if unknown. */
  readonly dueAt?: Date;
  /** Time since then, in ms. */
  readonly overdueFor?: number;
}

/** When a waiting job is due. */
export interface DueIn {
  /** Due time by the ledger's clock. */
  readonly dueAt: Date;
  /** Time until then, in ms. */
  readonly dueIn: number;
}

/**
 * Why a job hasn't run, or what became of it: each case with the details of its sentence. Times are by the ledger's clock,
 * durations in ms.
 */
export interface ExplanationDetails {
  /** `error`: why it doesn't answer. */
  'ledger-away': { readonly error: string };
  /** `death` is absent if its letter is gone. `attempt`: number of started runs. */
  dead: {
    readonly death?: {
      readonly at: Date;
      readonly why: DeadLetter['why'];
      readonly attempt: number;
      readonly error?: string;
    };
  };
  /** Replaced by a newer job of its key. */
  replaced: Readonly<Record<string, never>>;
  /** When its last run started, if the ledger knows it. `finished`: as in `ExplainedJob`. */
  done: {
    readonly startedAt?: Date;
    readonly finished?: Pick<FinishedJob, 'endedAt' | 'took' | 'process' | 'attempt'>;
  };
  /** Revoked by somebody. */
  revoked: Readonly<Record<string, never>>;
  /** It had not started by its expiry. */
  expired: Readonly<Record<string, never>>;
  /** `process`: the process that runs it, if known. */
  running: {
    readonly attempt: number;
    readonly startedAt?: Date;
    readonly runningFor?: number;
    readonly process?: RunningProcess;
  };
  /** Without `dueAt`, nothing at all is known of the job; with it, nothing of its copies. */
  unknown: DueSince;
  /** The nodes that may have a copy. */
  'nodes-away': { readonly nodes: readonly string[] };
  /** `awaited`: the ledger waits for it, so it is lost. */
  'no-copy': { readonly awaited: boolean };
  /** Its time hasn't come. */
  'not-due': DueIn;
  /** `attempt`: number of started runs. */
  retrying: DueIn & { readonly attempt: number };
  /** `until` is absent if the tube stays paused until somebody resumes it. */
  paused: DueSince & { readonly tube: string; readonly since: Date; readonly until?: Date };
  /** The process that ran it hasn't been heard of since then. */
  left: { readonly leaseEndedAt: Date };
  /** Held up by a run of the job it replaced. */
  held: Readonly<Record<string, never>>;
  /** Held up by a limit of its tube. */
  limited: DueSince & { readonly tube: string; readonly limit: UsedLimit };
  /** No process consumes its tube. */
  'not-consumed': DueSince & { readonly tube: string };
  /** `consumers`: number of processes that consume its tube, but take no jobs from the nodes. */
  'not-reserving': DueSince & { readonly tube: string; readonly consumers: number };
  /** All slots of its tube are busy, as processes announced within the last seconds. `oldestRun`: of runs longer than a second. */
  'slots-full': DueSince & {
    readonly tube: string;
    readonly slots: number;
    readonly oldestRun?: { readonly startedAt: Date; readonly runningFor: number };
  };
  /** A process holds it. */
  taken: DueSince;
  /** `others`: about how many jobs of its tube are due, and how many are running, according to the nodes. */
  queued: DueSince & { readonly others?: { readonly due: number; readonly running: number } };
  /** `readyIn`: time until a copy comes back. */
  coming: DueSince & { readonly readyIn: number };
  /** Its copies stay buried until they are kicked. */
  buried: DueSince;
}

/** Why a job hasn't run, or what became of it. */
export type ExplanationCase = keyof ExplanationDetails;

/** The limit of a tube that allows no run to start now. */
export type UsedLimit =
  | { readonly kind: 'concurrency'; readonly most: number; readonly running: number }
  | { readonly kind: 'perGroup'; readonly most: number; readonly running: number; readonly group: string }
  | {
      readonly kind: 'rate';
      readonly most: number;
      readonly per: number;
      readonly nextAt: Date;
      readonly nextIn: number;
    };

/** A case with its details. */
export type ExplanationReason<Case extends ExplanationCase = ExplanationCase> = {
  readonly [C in Case]: {
    /** To match on; docs/operating.md says what to do about each. */
    readonly because: C;
    /** The sentence's data, for code and for other languages. */
    readonly details: ExplanationDetails[C];
  };
}[Case];

/** The known facts of a job, and why it hasn't run. Unknown values are absent. */
export type Explanation = ExplainedJob & ExplanationReason;

/** The known facts of a job. Unknown values are absent. */
export interface ExplainedJob {
  /** Why it hasn't run, or what became of it: one sentence for people. */
  readonly why: string;
  /** A ULID, or derived from tube and key. */
  readonly id: string;
  /** Name without the prefix. */
  readonly tube: string;
  /** Absent for a job without one; also if the job was asked for without it, and no copy of it is reachable. */
  readonly key?: string;
  /** Refers to this job. Absent if nothing is known of it. */
  readonly ref?: JobRefText;
  /** According to the ledger, or to the copies of a waiting plain job. */
  readonly state?: JobView['state'];
  /** When it was added: by the ledger's clock, or for a job without a key by that of its producer. Absent if it isn't ours. */
  readonly addedAt?: Date;
  /** When its present due time was set, if that was later: by a move, a revival or an `Again`. */
  readonly movedAt?: Date;
  /** When it runs next, or ran. */
  readonly dueAt?: Date;
  /** When its first attempt was due, if that is another time: of a job that is retried. Absent if no copy is reachable. */
  readonly firstDueAt?: Date;
  /** Number of started runs. */
  readonly attempt?: number;
  /**
   * Maximum number of runs: its own, or that of its tube's handlers. Absent if neither is known, or the processes that consume
   * its tube differ.
   */
  readonly maxAttempts?: number;
  /**
   * Its last attempts that failed, at most 3, oldest first: of a job that is retried, or is dead. Those that ended without a
   * report, for example because the process died, are missing. Absent if there are none, or `keepErrors` is off.
   */
  readonly failedAttempts?: readonly FailedAttempt[];
  /** Delays after failed runs: its own, or those of its tube's handlers. Absent if unknown, as `maxAttempts`, or a function. */
  readonly backoff?: BackoffView;
  /** Latest start of its runs. Absent if it never expires, its tube's handlers differ, or no copy is reachable. */
  readonly expiresAt?: Date;
  /** Absent if it's normal or unknown. */
  readonly priority?: Priority;
  /** Group whose concurrent runs a limit counts. Absent if it has none, or no copy is reachable. */
  readonly group?: string;
  /** The job's own headers. Absent if it has none, or no copy is reachable. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Last progress that the handler running it reported, as in `JobView`. */
  readonly progress?: NonNullable<JobView['progress']>;
  /** Its last run, which may be ongoing; absent if none started. */
  readonly run?: RunView;
  /** Its copies, as far as their places are known, including missing ones. */
  readonly copies: readonly CopyView[];
  /** How it ended, if it is done and kept: see the option `keepDone`. */
  readonly finished?: FinishedJob;
  /** Its dead letter, if it has one. */
  readonly deadLetter?: DeadLetter;
}

/** The delays after failed runs, in ms. */
export interface BackoffView {
  /** `fixed`: the same delay each time. `exponential`: doubles each time. */
  readonly type: 'fixed' | 'exponential';
  /** First delay. */
  readonly delay: number;
  /** Max delay. */
  readonly max: number;
  /** Random part of the delay, 0 to 1. */
  readonly jitter: number;
}

/** A run of a job, according to the ledger. */
export interface RunView {
  /** By the ledger's clock. */
  readonly startedAt: Date;
  /** Until then no other process may run the job. Absent once the run is over. */
  readonly leaseEndsAt?: Date;
  /** The process that runs it now. Absent if nobody does, or nobody has announced it yet: a process announces runs longer than a second. */
  readonly process?: RunningProcess;
}

/** A process that runs a job; see `DqInspector.processes`. */
export interface RunningProcess {
  /** As shown by `DqInspector.processes`. */
  readonly id: string;
  /** Name of the machine. */
  readonly host: string;
  /** Process id on that machine. */
  readonly pid: number;
}

/** One copy of a job, according to its node. */
export interface CopyView {
  /** The endpoint of its node. */
  readonly node: string;
  /** 0 is the primary. */
  readonly index: number;
  /**
   * `delayed`: it waits for its time. `ready`: nobody has reserved it. `reserved`: a process holds it. `missing`: its node
   * doesn't have it. `away`: its node doesn't answer. `unknown`: its add got no answer, so it may be on the node or not.
   */
  readonly state: 'delayed' | 'ready' | 'reserved' | 'buried' | 'missing' | 'away' | 'unknown';
  /** Time until it is ready, or ready again, in ms; only for a delayed or reserved copy. */
  readonly readyIn?: number;
  /** Priority in beanstalkd: smaller comes first. */
  readonly priority?: number;
  /** Time since it was stored, in ms. */
  readonly age?: number;
  /** How often a process reserved it. */
  readonly reserves?: number;
  /** How often a process released it. */
  readonly releases?: number;
  /** How often a process held it for too long. */
  readonly timeouts?: number;
}
