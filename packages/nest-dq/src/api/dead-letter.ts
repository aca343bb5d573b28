import type { JobRefText } from './job.js';

/** A job that does not run again unless it is revived. */
export interface DeadLetter<P = unknown> {
  /** A ULID, or made from tube and key. */
  readonly id: string;
  /** Finds this letter, even if its key has a newer job. */
  readonly ref: JobRefText;
  /** Without the prefix. */
  readonly tube: string;
  /** Absent for a plain job, and while no copy is in reach. */
  readonly key?: string;
  /** Absent while no copy is in reach, and when it cannot be read. */
  readonly payload?: P;
  /** The name of the key of `seal` that its copies are sealed with and this process does not have, so it has no payload and no key. */
  readonly missingKey?: string;
  /** When its last run was due. */
  readonly dueAt: Date;
  /** By the clock of the ledger. */
  readonly diedAt: Date;
  /** Runs begun. */
  readonly attempt: number;
  /**
   * `attempts`: they are used up. `discarded`: by its handler. `invalid`: the payload cannot be read. `stale`: the ledger
   * knows nothing of it, and it is overdue by more than `staleAfter`. Such a copy comes from a node that was away; the job
   * was done long ago, or never ran.
   */
  readonly why: 'attempts' | 'discarded' | 'invalid' | 'stale';
  /** The error of the last run, with the first lines of its stack; absent if a crash used up the last attempt. */
  readonly error?: { readonly name: string; readonly message: string; readonly stack?: string };
}
