import type { DeadLetter } from '../api/dead-letter.js';
import type { JobView } from '../api/job.js';

/** Since when a job that did not run is due. */
export interface DueSince {
  /** By the clock of the ledger. Absent: nothing tells it. */
  readonly dueAt?: Date;
  /** Milliseconds since then. */
  readonly overdueFor?: number;
}

/** When a job that waits is due. */
export interface DueIn {
  /** By the clock of the ledger. */
  readonly dueAt: Date;
  /** Milliseconds until then. */
  readonly dueIn: number;
}

/**
 * Why a job has not run, or what became of it: each case, and what its sentence tells. Times are by the clock of the ledger, and
 * durations are in milliseconds.
 */
export interface ExplanationDetails {
  /** `error`: what asking it came to. */
  'ledger-away': { readonly error: string };
  /** `death` is absent if its letter is gone. `attempt`: how many runs began. */
  dead: {
    readonly death?: {
      readonly at: Date;
      readonly why: DeadLetter['why'];
      readonly attempt: number;
      readonly error?: string;
    };
  };
  /** By a newer job of its key. */
  replaced: Readonly<Record<string, never>>;
  /** When its last run began, if the ledger knows that. */
  done: { readonly startedAt?: Date };
  /** Somebody revoked it. */
  revoked: Readonly<Record<string, never>>;
  /** `process`: who runs it, if that is known. */
  running: {
    readonly attempt: number;
    readonly startedAt?: Date;
    readonly runningFor?: number;
    readonly process?: RunningProcess;
  };
  /** Without `dueAt`, nothing at all is known of the job; with it, nothing of its copies. */
  unknown: DueSince;
  /** Those that may have a copy. */
  'nodes-away': { readonly nodes: readonly string[] };
  /** `awaited`: the ledger waits for it, so it is lost. */
  'no-copy': { readonly awaited: boolean };
  /** Its time has not come. */
  'not-due': DueIn;
  /** `attempt`: how many runs began. */
  retrying: DueIn & { readonly attempt: number };
  /** `until` is absent if somebody has to resume the tube. */
  paused: DueSince & { readonly tube: string; readonly since: Date; readonly until?: Date };
  /** The process that ran it was not heard of since then. */
  left: { readonly leaseEndedAt: Date };
  /** By a run of the job that it replaced. */
  held: Readonly<Record<string, never>>;
  /** The limit that is used up. */
  limited: DueSince & { readonly tube: string; readonly limit: UsedLimit };
  /** No process consumes its tube. */
  'not-consumed': DueSince & { readonly tube: string };
  /** A process holds it. */
  taken: DueSince;
  /** `others`: about how many jobs of its tube are due, and how many run, as far as the nodes tell. */
  queued: DueSince & { readonly others?: { readonly due: number; readonly running: number } };
  /** `readyIn`: until a copy comes back. */
  coming: DueSince & { readonly readyIn: number };
  /** Its copies stay so until they are kicked. */
  buried: DueSince;
}

/** Why a job has not run, or what became of it. */
export type ExplanationCase = keyof ExplanationDetails;

/** A limit of a tube that lets no run begin now. */
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
    /** What the sentence tells, for code and for other languages. */
    readonly details: ExplanationDetails[C];
  };
}[Case];

/** What is known of a job, and why it has not run. What is unknown is absent. */
export type Explanation = ExplainedJob & ExplanationReason;

/** What is known of a job. What is unknown is absent. */
export interface ExplainedJob {
  /** Why it has not run, or what became of it: one sentence for people. */
  readonly why: string;
  /** A ULID, or made from tube and key. */
  readonly id: string;
  /** Without the prefix. */
  readonly tube: string;
  /** Absent for a plain job. */
  readonly key?: string;
  /** By the ledger, or by the copies of a plain job that waits. */
  readonly state?: JobView['state'];
  /** When it runs (next), or ran. */
  readonly dueAt?: Date;
  /** Runs begun. */
  readonly attempt?: number;
  /** Its last run, which may go on; absent if none began. */
  readonly run?: RunView;
  /** Its copies, as far as their places are known. Absent ones are shown, too. */
  readonly copies: readonly CopyView[];
  /** If it is a dead letter. */
  readonly deadLetter?: DeadLetter;
}

/** A run of a job, as the ledger knows it. */
export interface RunView {
  /** By the clock of the ledger. */
  readonly startedAt: Date;
  /** Until then no other process may run the job. Absent once the run is over. */
  readonly leaseEndsAt?: Date;
  /** Who runs it now. Absent if nobody does, or nobody has told yet: a process tells of a run that takes longer than a second. */
  readonly process?: RunningProcess;
}

/** `DqInspector.processes` tells more. */
export interface RunningProcess {
  /** As `DqInspector.processes` shows it. */
  readonly id: string;
  /** The name of the machine. */
  readonly host: string;
  /** On that machine. */
  readonly pid: number;
}

/** One copy of a job, as its node tells of it. */
export interface CopyView {
  /** The endpoint of its node. */
  readonly node: string;
  /** 0 is the primary. */
  readonly index: number;
  /**
   * `delayed`: it waits for its time. `ready`: nobody has taken it. `reserved`: a process holds it. `missing`: its node does not
   * have it. `away`: its node does not answer. `unknown`: its add got no answer, so it may be on the node or not.
   */
  readonly state: 'delayed' | 'ready' | 'reserved' | 'buried' | 'missing' | 'away' | 'unknown';
  /** Milliseconds until it is ready, or ready again; only of one that is delayed or reserved. */
  readonly readyIn?: number;
  /** Of beanstalkd: the smaller one comes first. */
  readonly priority?: number;
  /** Milliseconds since it was stored. */
  readonly age?: number;
  /** How often a process took it. */
  readonly reserves?: number;
  /** How often a process gave it back. */
  readonly releases?: number;
  /** How often a process held it for too long. */
  readonly timeouts?: number;
}
