import type { StoredTube } from '../../api/tube.js';
import type { Place } from '../../copies/location.js';

/** A waiting job in the list. */
export interface WaitingJob {
  readonly id: string;
  /** Due time, or the time of the retry, as ledger time in ms. */
  readonly due: number;
  /** Generation of the add; 0 for a plain job. */
  readonly born: number;
  readonly generation: number;
  /** Number of started runs that count; more than 0 if it waits for a retry. */
  readonly attempt: number;
  /** Known places of its copies. */
  readonly places: readonly Place[];
}

/** A position in the list. Jobs due at the same millisecond are sorted by id. */
export interface WaitingPosition {
  readonly due: number;
  readonly id: string;
}

export interface WaitingPage {
  /** Earliest due time, as ledger time in ms. @default all */
  readonly from?: number;
  /** Due before this ledger time, in ms. @default all */
  readonly to?: number;
  /** Continues right after this position, even if its job has left the list. */
  readonly after?: WaitingPosition;
  /** Maximum number of entries to look at: 1 to 250. */
  readonly limit: number;
}

/** A page of waiting jobs, by due time. */
export interface WaitingList {
  /** May be fewer than `limit`, even none, although more follow: entries of finished jobs are left out. */
  readonly jobs: readonly WaitingJob[];
  /** Where the next page continues; undefined on the last page. */
  readonly next?: WaitingPosition;
}

export interface WaitingCounts {
  readonly listed: number;
  /** Listed jobs that are overdue. */
  readonly overdue: number;
  /** Listed jobs that wait for a retry. */
  readonly retrying: number;
  /** Due time of the first listed job, as ledger time in ms; undefined if there is none. */
  readonly firstDue?: number;
}

/**
 * Lists the waiting jobs of a tube, not running or dead ones. For inspection only: nothing depends on it. The work of each call
 * is bounded. A call may reject with `DQ_LEDGER_DOWN` or `DQ_CLOSED`.
 */
export interface WaitingJobs {
  /** Whether the list has every waiting job. If not, some may be missing, and the nodes' statistics show how many. */
  readonly complete: boolean;
  page(tube: StoredTube, page: WaitingPage): Promise<WaitingList>;
  counts(tube: StoredTube): Promise<WaitingCounts>;
  /** For each of up to 201 ledger times, in ms, the number of listed jobs due before it. */
  dueBefore(tube: StoredTube, times: readonly number[]): Promise<readonly number[]>;
  /** One job by its id, if it waits and is listed. */
  find(tube: StoredTube, id: string): Promise<WaitingJob | undefined>;
}
