import type { StoredTube } from '../api/tube.js';
import type { Place } from '../copies/location.js';

/** A job that waits, as its list tells of it. */
export interface WaitingJob {
  readonly id: string;
  /** Ledger time, ms; of a job that waits for a retry, the time of the retry. */
  readonly due: number;
  /** The generation of the add; 0 for a plain job. */
  readonly born: number;
  readonly generation: number;
  /** Runs begun that count: more than 0 if it waits for a retry. */
  readonly attempt: number;
  /** Where its copies are, as far as is known. */
  readonly places: readonly Place[];
}

/** A place in the list. Jobs that are due at the same millisecond come in the order of their ids. */
export interface WaitingPosition {
  readonly due: number;
  readonly id: string;
}

export interface WaitingPage {
  /** Ledger time, ms: jobs that are due at this time or later. @default all */
  readonly from?: number;
  /** Ledger time, ms: jobs that are due before this time. @default all */
  readonly to?: number;
  /** Goes on right behind this place, even if its job is not in the list any more. */
  readonly after?: WaitingPosition;
  /** Entries that are looked at, at most: 1 to 250. */
  readonly limit: number;
}

/** The job that is due first comes first. */
export interface WaitingList {
  /** May be fewer than `limit`, even none, although more follow: entries of jobs that are over are left out. */
  readonly jobs: readonly WaitingJob[];
  /** Where the next page goes on. Undefined: this was the last one. */
  readonly next?: WaitingPosition;
}

export interface WaitingCounts {
  readonly listed: number;
  /** Those of them that are due by now. */
  readonly overdue: number;
  /** Those of them that wait for a retry. */
  readonly retrying: number;
  /** Ledger time, ms: when the first of them is, or was, due. Undefined if there is none. */
  readonly firstDue?: number;
}

/**
 * Lists the jobs of a tube that wait: not those that run or are dead. Only for those who look: nothing is decided by it. Each
 * call is bounded in work. A call may reject with `DQ_LEDGER_DOWN` or `DQ_CLOSED`.
 */
export interface WaitingJobs {
  /** True: the list has every job that waits. False: some may be missing, and the numbers of the nodes tell how many. */
  readonly complete: boolean;
  page(tube: StoredTube, page: WaitingPage): Promise<WaitingList>;
  counts(tube: StoredTube): Promise<WaitingCounts>;
  /** For each of up to 201 times, in ms of ledger time: how many of the listed jobs are due before it. */
  dueBefore(tube: StoredTube, times: readonly number[]): Promise<readonly number[]>;
  /** One job by its id, if it waits and is listed. */
  find(tube: StoredTube, id: string): Promise<WaitingJob | undefined>;
}
