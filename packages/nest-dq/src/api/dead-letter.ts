import type { JobRefText } from './job.js';
import type { EncodedPayload } from './payload-codec.js';

/** A job that won't run again unless it is revived. */
export interface DeadLetter<P = unknown> {
  /** A ULID, or derived from tube and key. */
  readonly id: string;
  /** Finds this letter, even if its key has a newer job. */
  readonly ref: JobRefText;
  /** Tube name without the prefix. */
  readonly tube: string;
  /** Absent for a plain job, and while no copy is reachable. */
  readonly key?: string;
  /** Absent while no copy is reachable, and if it can't be read. */
  readonly payload?: P;
  /** Instead of `payload`: what a codec wrote that isn't among those of the tube as the call has it, or that can't decode it. */
  readonly encoded?: EncodedPayload;
  /** Name of the `seal` key that its copies are sealed with but this process doesn't have, so payload and key are absent. */
  readonly missingKey?: string;
  /** When its last run was due. */
  readonly dueAt: Date;
  /** Time of death, in ledger time. */
  readonly diedAt: Date;
  /** Number of runs started. */
  readonly attempt: number;
  /**
   * `attempts`: none left. `discarded`: by its handler. `invalid`: the payload can't be read. `stale`: the ledger has no record
   * of the job, and it is overdue by more than `staleAfter`. Such a copy comes from a node that was away; the job was done long
   * ago, or never ran. `expired`: it had not started by its expiry, and its handler has `onExpired: 'letter'`.
   */
  readonly why: 'attempts' | 'discarded' | 'invalid' | 'stale' | 'expired';
  /** Error of the last run, with the first lines of its stack; absent if a crash used up the last attempt. */
  readonly error?: { readonly name: string; readonly message: string; readonly stack?: string };
  /** Its last attempts that failed, at most 3, oldest first. Absent if there are none, or `keepErrors` is off. */
  readonly failedAttempts?: readonly FailedAttempt[];
}

/** A run that failed. */
export interface FailedAttempt {
  /** Number of the run, from 1. */
  readonly attempt: number;
  /** When its handler was called, by the ledger's clock. */
  readonly startedAt: Date;
  /** Time until it had failed, in ms. */
  readonly took: number;
  /** The process that ran it, as `host:pid`. */
  readonly process: string;
  /** Cut after 300 characters. */
  readonly error: { readonly name: string; readonly message: string };
}
