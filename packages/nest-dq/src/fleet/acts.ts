// The record of operators' acts, for later inspection. Nothing here decides about a job.

import type { OperatorAct } from '../events/events.js';

/** Number of stored acts; the oldest are dropped. */
export const MAX_ACTS = 1_000;

/** The acts of all processes of one prefix. */
export interface Acts {
  /** Ledger time in ms. */
  now(): number;
  /**
   * Stores acts in this order, as the latest ones: at most a few hundred strings, each different from that of any other act. An
   * act already stored is left as it is. Rejects with `DQ_LEDGER_DOWN`: they may have been stored.
   */
  add(acts: readonly string[]): Promise<void>;
  /** Resolves with the latest `limit` acts, or those before a place, latest first. Rejects with `DQ_LEDGER_DOWN`. */
  read(before: number | undefined, limit: number): Promise<StoredAct[]>;
}

export interface StoredAct {
  /** A whole number, larger than that of every earlier act. */
  readonly place: number;
  readonly text: string;
}

/** An act as stored, in JSON. */
export interface ActRecord extends Omit<OperatorAct, 'error'> {
  /** Unique id of the act. */
  readonly id: string;
  /** Ledger time at which it ended, in ms. */
  readonly at: number;
  /** The error that ended it early. `code` is that of a `DqError`, or the name of another error. */
  readonly error?: { readonly code: string; readonly message: string };
}
