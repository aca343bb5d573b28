// What the ledger is asked about dead letters, and what it answers: see the verbs in ledger.ts.
import type { Place } from '../copies/location.js';

/** Why a job became a dead letter. */
export interface Death {
  readonly why: 'attempts' | 'discarded' | 'invalid' | 'stale';
  /** Stored as it is: a long stack is cut by the caller. */
  readonly error?: { readonly name: string; readonly message: string; readonly stack?: string };
}

/** A dead job's entry in the tube's index. There is one at most for each (id, born). */
export interface Letter extends Death {
  readonly id: string;
  readonly born: number;
  readonly generation: number;
  readonly due: number;
  /** Runs begun. */
  readonly attempt: number;
  /** Ledger time, ms. */
  readonly died: number;
  readonly places: readonly Place[];
}

/** Without `born`: the job's present generation, if that is dead. */
export interface LetterRef {
  readonly id: string;
  readonly born: number | undefined;
}

export interface DiscardRequest extends LetterRef {
  /** Only the letter of this death: a job that was revived may have died again since. @default whatever letter there is */
  readonly died?: number;
}

/** Asks for the letters that are not retained: those older than `maxAge`, and those beyond the `maxCount` newest ones. */
export interface SurplusRequest {
  /** Milliseconds. */
  readonly maxAge: number;
  readonly maxCount: number;
  /** Of the oldest letters. */
  readonly limit: number;
}

/** Asks how many letters there are of jobs that died at this ledger time, in ms, or later. */
export interface DeathsRequest {
  readonly since: number;
}

export interface LetterPage {
  readonly limit: number;
  /** Where the page before ended: goes on right behind it, even if that letter does not exist any more. */
  readonly after: { readonly died: number; readonly id: string; readonly born: number } | undefined;
}

/** Newest first, those of one millisecond by `<id>:<born>` in descending order. A surplus is told the other way round. */
export interface LetterList {
  readonly letters: readonly Letter[];
  /** There are letters behind the last one. */
  readonly more: boolean;
}

/** Says where copies of a generation that is dead are, or will be buried. */
export interface BuriedRequest {
  readonly id: string;
  readonly born: number;
  readonly generation: number;
  readonly places: readonly Place[];
}

/**
 * `dead`: there is a letter of this generation, and it knows the places. `gone`: the letter was discarded or revived, and none of
 * these copies can be needed any more; a claim would answer the same. `unknown`: neither, because Redis has lost what it knew.
 */
export type BuriedAnswer = 'dead' | 'gone' | 'unknown';
