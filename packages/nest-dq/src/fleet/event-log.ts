/** Entries that are kept; the oldest are dropped. */
export const EVENTS_KEPT = 10_000;

/** Where the processes of one prefix leave events for each other. Nothing here decides about a job. */
export interface EventLog {
  /** Ledger time in ms. */
  now(): number;
  /** Appends at most a hundred strings. Rejects with `DQ_LEDGER_DOWN`: they may have been appended. */
  append(entries: readonly string[]): Promise<void>;
  /** Reads what is appended from about now on. Returns a function that stops it. */
  follow(follower: EventFollower): () => void;
}

export interface EventFollower {
  /** Entries in their order, each once. */
  appended(entries: readonly string[]): void;
  /** Entries that this follower has missed. 0: an unknown number, since the log has lost its data. */
  missed(count: number): void;
}
