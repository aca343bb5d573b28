import type { Pause } from '../ledger/pause.js';

/** A pause of a tube. */
export interface TubePause {
  /** When it began, by the clock of the ledger. */
  readonly since: Date;
  /** When it ends by itself. Absent: when somebody resumes the tube. */
  readonly until?: Date;
}

/** As users see it. */
export function tubePause({ since, until }: Pause): TubePause {
  return { since: new Date(since), ...(until !== undefined && { until: new Date(until) }) };
}
