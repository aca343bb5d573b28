// What happened to jobs, by minute: numbers for people. They are not exact where a process dies or Redis is away.

/** Milliseconds: how long a minute is remembered. */
export const REMEMBERED = 2 * 86_400_000;
/** Tubes that have numbers of their own in an hour. Further ones count in the sum of all tubes only. */
export const MOST_TUBES = 100;
/** Minutes in one call of `read`: an hour, and never over the end of an hour. */
export const HOUR = 60;
/** Minutes of which each tube has a sum, too: an hour has four of these quarters. */
export const QUARTER = 15;

/** The name that the sum of all tubes has. No tube has it. */
export const ALL_TUBES = '';

/** The numbers of one tube, or of all, in one minute. */
export interface MinuteOfTube {
  /** Minutes since 1970, by ledger time. */
  readonly minute: number;
  /** Without the prefix, or ALL_TUBES. */
  readonly tube: string;
  /** As many as all others have. Their meaning is not known here. */
  readonly counts: readonly number[];
}

/** The numbers of all processes of one prefix. */
export interface History {
  /** Ledger time, ms. */
  now(): number;
  /** Adds to what is there. All are of one hour; at most some hundred. `DQ_LEDGER_DOWN`: they may have been added. */
  add(minutes: readonly MinuteOfTube[]): Promise<void>;
  /** The minutes from `from` to `to` (both included, and of one hour) in which anything was counted. `DQ_LEDGER_DOWN`. */
  read(tube: string, from: number, to: number): Promise<MinuteOfTube[]>;
  /**
   * The sums of the quarters of an hour (its number, see `hourOf`), of each tube that has numbers of its own, in the order of time
   * for each tube: `minute` is the first one of its quarter. `DQ_LEDGER_DOWN`.
   */
  quarters(hour: number): Promise<MinuteOfTube[]>;
}

/** Adds the second list to the first one. */
export function addCounts(counts: number[], more: readonly number[]): void {
  for (let i = 0; i < more.length; i++) counts[i] = (counts[i] ?? 0) + more[i]!;
}

export function hourOf(minute: number): number {
  return Math.floor(minute / HOUR);
}
