// The pause of a tube: what the ledger is asked, and what it answers.

/** A time in which no run of a tube is granted. Ledger time, ms. */
export interface Pause {
  readonly since: number;
  /** Absent: until somebody resumes the tube. */
  readonly until?: number;
}

export interface PauseRequest {
  /** Ledger time, ms. In a tube that is paused it takes the place of the present end. One that is over changes nothing. */
  readonly until: number | undefined;
}

/** As a ledger in memory has a pause, present or past: ledger time, ms. */
export interface PauseSpan {
  readonly from: number;
  /** FOR_GOOD of rules/pauses.ts: until somebody resumes the tube. */
  readonly to: number;
}
