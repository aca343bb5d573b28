import type { DeadLetter } from '../api/dead-letter.js';
import type { JobView } from '../api/job.js';

/** Why a job has not run, or what became of it. */
export type ExplanationCase =
  | 'ledger-away'
  | 'dead'
  | 'replaced'
  | 'done'
  | 'revoked'
  | 'running'
  | 'unknown'
  | 'nodes-away'
  | 'no-copy'
  | 'not-due'
  | 'retrying'
  | 'paused'
  | 'left'
  | 'held'
  | 'limited'
  | 'not-consumed'
  | 'taken'
  | 'queued'
  | 'coming'
  | 'buried';

/** What is known of a job. What is unknown is absent. */
export interface Explanation {
  /** One sentence for people. */
  readonly why: string;
  /** The same to match on; docs/operating.md says what to do about each. */
  readonly because: ExplanationCase;
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
