import type { JobRefText } from './job.js';

/** A job that will not run any more, until it is revived. */
export interface DeadLetter<P = unknown> {
  /** A ULID, or made from tube and key. */
  readonly id: string;
  /** Finds this very letter, also when its key has a newer job. */
  readonly ref: JobRefText;
  /** Without the prefix. */
  readonly tube: string;
  /** Absent for a plain job, and while no copy is in reach. */
  readonly key?: string;
  /** Absent while no copy is in reach, and when it cannot be read. */
  readonly payload?: P;
  /** When its last run was due. */
  readonly dueAt: Date;
  /** By the clock of the ledger. */
  readonly diedAt: Date;
  /** Runs begun. */
  readonly attempt: number;
  /**
   * `attempts`: used up. `discarded`: by its handler. `invalid`: the payload cannot be read. `stale`: nothing is known of
   * it, and it is overdue by more than `staleAfter`: a copy from a node that was away, done long ago or never run.
   */
  readonly why: 'attempts' | 'discarded' | 'invalid' | 'stale';
  /** What the last run threw, with the first lines of its stack; absent when a crash used up the last attempt. */
  readonly error?: { readonly name: string; readonly message: string; readonly stack?: string };
}
