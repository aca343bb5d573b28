// What operators did: for people who ask later. Nothing here decides about a job.

import type { Operated } from '../events/events.js';

/** Acts that are stored; the oldest are dropped. */
export const MOST_ACTS = 1_000;

/** The acts of all processes of one prefix. */
export interface Acts {
  /** Ledger time, ms. */
  now(): number;
  /**
   * Stores acts in this order, as the latest ones: at most some hundred texts, each unlike that of any other act. One that is
   * there is left as it is. `DQ_LEDGER_DOWN`: they may have been stored.
   */
  add(acts: readonly string[]): Promise<void>;
  /** The latest acts before a place, or of all, the latest first: at most `limit`. `DQ_LEDGER_DOWN`. */
  read(before: number | undefined, limit: number): Promise<StoredAct[]>;
}

export interface StoredAct {
  /** A whole number, larger than that of every act before it. */
  readonly place: number;
  readonly text: string;
}

/** An act as it is stored, in JSON. */
export interface ActRecord extends Omit<Operated, 'error'> {
  /** Differs from that of any other act. */
  readonly id: string;
  /** Ledger time, ms, at which it ended. */
  readonly at: number;
  /** What ended it before it was through. `code`: that of a `DqError`, or the name of another error. */
  readonly error?: { readonly code: string; readonly message: string };
}
