// The work an ending process leaves to the others.
import type { StoredTube } from '../api/tube.js';

/** Where an ending process leaves what it couldn't report to the ledger yet. Any other process takes it over once it is certain. */
export interface Handover {
  leave(left: readonly LeftDeletions[]): Promise<void>;
  /** Takes some deletions that are certain by now; nobody else gets them. An empty list means there are no more. */
  take(): Promise<LeftDeletions[]>;
}

/** A copy deleted by a node. */
export interface DeletedCopy {
  readonly index: number;
  /** The server that answered DELETED. */
  readonly instance: string;
}

/** Jobs whose copies were deleted on the same servers, by a process that ended before the deletions were certain. */
export interface LeftDeletions {
  readonly tube: StoredTube;
  readonly ids: readonly string[];
  /** Generations in the order of the ids. */
  readonly generations: readonly number[];
  readonly copies: readonly DeletedCopy[];
  /** Whether the headers of the copies record a put of unknown outcome. */
  readonly unknown: boolean;
  /** Time from now until the deletions are certain, in ms, provided the servers are still the same then. */
  readonly certainIn: number;
}
