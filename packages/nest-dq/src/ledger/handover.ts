// What a process that ends leaves to the others.
import type { StoredTube } from '../api/tube.js';

/** Where a process that ends leaves what it could not tell the ledger yet. Any other process takes it once it is certain. */
export interface Handover {
  leave(left: readonly LeftDeletions[]): Promise<void>;
  /** Takes some deletions whose time has come; nobody else gets them. An empty list means that there are no more. */
  take(): Promise<LeftDeletions[]>;
}

/** A copy that a node deleted. */
export interface DeletedCopy {
  readonly index: number;
  /** The server that answered DELETED. */
  readonly instance: string;
}

/** Jobs whose copies were deleted on the same servers, by a process that ended before the deletions were certain. */
export interface LeftDeletions {
  readonly tube: StoredTube;
  readonly ids: readonly string[];
  /** In the order of the ids. */
  readonly generations: readonly number[];
  readonly copies: readonly DeletedCopy[];
  /** The headers of the copies tell of a put of unknown outcome. */
  readonly unknown: boolean;
  /** Milliseconds from now until the deletions are certain, if the servers are still the same then. */
  readonly certainIn: number;
}
