// How each series ran last, for people. Nothing here decides about a job.

/** Number of series that are remembered: those that ran last. */
export const MAX_SERIES = 1_000;
/** How long a run is remembered. The 29th of February comes after eight years at most. */
export const KEPT_MS = 10 * 365 * 86_400_000;

/** The last runs of the series of all processes of one prefix. */
export interface SeriesRuns {
  /** Ledger time in ms. */
  now(): number;
  /**
   * Remembers runs, at most a few hundred, each in place of the last one of its series, unless that ended later. Rejects with
   * `DQ_LEDGER_DOWN`: they may have been stored.
   */
  put(runs: readonly StoredSeriesRun[]): Promise<void>;
  /** Resolves with the last run of each series, as the `text` that was stored. Rejects with `DQ_LEDGER_DOWN`. */
  read(): Promise<string[]>;
}

export interface StoredSeriesRun {
  /** Name without the prefix. */
  readonly tube: string;
  /** Ledger time in ms. */
  readonly endedAt: number;
  /** A `SeriesRunRecord` in JSON. */
  readonly text: string;
}

/**
 * How a run of a series ended: it succeeded; it failed and will be retried; it failed, and the job is a dead letter; it failed, and
 * nothing follows, because the job was revoked or replaced meanwhile.
 */
export type SeriesOutcome = 'completed' | 'retrying' | 'dead' | 'failed';

/** The last run of a series, as stored. Times are ledger times in ms. */
export interface SeriesRunRecord {
  readonly tube: string;
  /** As `Occurrences` has it. */
  readonly plan: string;
  readonly outcome: SeriesOutcome;
  readonly dueAt: number;
  readonly endedAt: number;
  readonly attempt: number;
  /** Duration of the handler, in ms. Absent if the job died without a run, as one whose process died during its last attempt. */
  readonly took?: number;
  /** `host:pid` of the process that reported it. */
  readonly process: string;
  /** First line of the error. Absent if it succeeded, or `keepErrors` is off. */
  readonly error?: string;
}
