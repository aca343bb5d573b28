import type { Places } from '../servers.js';

/** What a replacer process is told, as JSON. */
export interface ReplacerArguments {
  readonly places: Places;
  readonly queue: string;
  readonly key: string;
  /** Adds a second. */
  readonly rate: number;
  /** Milliseconds from an add to its due time. */
  readonly delay: number;
}

/** What it tells, some times a second. */
export interface ReplacerReport {
  /** Adds that were acknowledged up to now. */
  readonly stored: number;
  /** Adds that were refused. */
  readonly failed: number;
  /** The text of the last refusal. */
  readonly error?: string;
}
