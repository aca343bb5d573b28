import type { DeadLetter } from './dead-letter.js';

/** How a job ended, in whichever process: what the ledger knows of it. */
export interface JobEnd<Result = unknown> {
  /**
   * `done`: its handler succeeded. `dead`: it became a dead letter. `revoked`: it was revoked, and no run has succeeded since. `expired`: it
   * never started. `replaced`: a later add with its key took its place, and nothing says that it had ended before.
   */
  readonly outcome: 'done' | 'dead' | 'revoked' | 'expired' | 'replaced';
  /** Id of the job. */
  readonly id: string;
  /** Tube name without the prefix. */
  readonly tube: string;
  /** Absent for a plain job. */
  readonly key?: string;
  /** When it ended. Absent if that isn't kept: see `result`, `why`. */
  readonly endedAt?: Date;
  /** Number of its last run. Absent if it isn't known. */
  readonly attempt?: number;
  /**
   * The return value of its handler, after JSON. Only of a job that is `done`, if its handler has `keepDone`, as long as that keeps it.
   * Undefined if the handler returned nothing, too.
   */
  readonly result?: Result;
  /** Why there is no result although its end is kept. */
  readonly resultLeftOut?: 'too long' | 'not JSON';
  /** Why it died. Only of a job that is `dead`. */
  readonly why?: DeadLetter['why'];
  /** Error of the run with which it died; absent if there was none. */
  readonly error?: DeadLetter['error'];
}
