import type { Places } from '../servers.js';

/** The argument of a replacer process, as JSON. */
export interface ReplacerArguments {
  readonly places: Places;
  readonly queue: string;
  readonly key: string;
  /** Adds a second. */
  readonly rate: number;
  /** Milliseconds from an add to its due time. */
  readonly delay: number;
}

/** Report of a replacer process, sent several times a second. */
export interface ReplacerReport {
  /** Adds that were acknowledged up to now. */
  readonly stored: number;
  /** Adds that failed. */
  readonly failed: number;
  /** The message of the last failure. */
  readonly error?: string;
}
