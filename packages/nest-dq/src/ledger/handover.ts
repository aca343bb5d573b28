import type { StoredTube } from '../api/tube.js';
/** Copies of jobs that were deleted alike, by a process that ended before that was certain. */
export interface LeftDeletions {
  readonly tube: StoredTube;
  readonly ids: readonly string[];
  /** In the order of the ids. */
  readonly generations: readonly number[];
  /** By the server that answered DELETED. */
  readonly copies: readonly { readonly index: number; readonly instance: string }[];
  /** Their headers know of a put of unknown outcome. */
  readonly unknown: boolean;
  /** Milliseconds after they are left: by then they are, if the servers are still the same. */
  readonly certainIn: number;
}

/** Where processes that end leave what they could not tell the ledger yet, for any that is there when it is certain. */
export interface Handover {
  leave(left: readonly LeftDeletions[]): Promise<void>;
  /** Some that are certain by now, if the servers are still the same; nobody else gets them. None: there are no more. */
  take(): Promise<LeftDeletions[]>;
}
