// Job statistics by minute, for people. They aren't exact if a process dies or Redis is away.

/** How long a minute is remembered. */
export const REMEMBERED_MS = 2 * 86_400_000;
/** Tubes with counts of their own per hour. Further ones count only in the sum of all tubes. */
export const MAX_TUBES = 100;
/** Minutes per call of `read`: an hour, and never across the end of an hour. */
export const HOUR = 60;
/** Minutes for which each tube also has a sum: an hour has four of these quarters. */
export const QUARTER = 15;

/** Numbers of one tube in one minute. */
export const MAX_NUMBERS = 64;

/** The name under which the sum of all tubes is stored. No tube has it. */
export const ALL_TUBES = '';

/** The counts of one tube, or of all, in one minute. */
export interface MinuteOfTube {
  /** Minutes since 1970, by ledger time. */
  readonly minute: number;
  /** Name without the prefix, or ALL_TUBES. */
  readonly tube: string;
  /** Numbers whose meaning isn't known here, at most MAX_NUMBERS. Zeros at the end may be missing. */
  readonly counts: readonly number[];
}

/** The counts of all processes of one prefix. */
export interface History {
  /** Ledger time in ms. */
  now(): number;
  /** Adds to the stored counts. All must be of one hour; at most a few hundred. Rejects with `DQ_LEDGER_DOWN`: they may have been added. */
  add(minutes: readonly MinuteOfTube[]): Promise<void>;
  /**
   * Resolves with the minutes from `from` to `to` (inclusive, within one hour) in which anything was counted. Rejects with
   * `DQ_LEDGER_DOWN`.
   */
  read(tube: string, from: number, to: number): Promise<MinuteOfTube[]>;
  /**
   * Resolves with the sums of each quarter of an hour (its number, see `hourOf`), for each tube with counts of its own, in
   * chronological order per tube: `minute` is the first one of its quarter. Rejects with `DQ_LEDGER_DOWN`.
   */
  quarters(hour: number): Promise<MinuteOfTube[]>;
  /** The same with the minutes of an hour in which anything was counted. Rejects with `DQ_LEDGER_DOWN`. */
  minutes(hour: number): Promise<MinuteOfTube[]>;
}

/** Adds the second list to the first one. */
export function addCounts(counts: number[], more: readonly number[]): void {
  for (let i = 0; i < more.length; i++) counts[i] = (counts[i] ?? 0) + more[i]!;
}

/** Resolves with the quarters of all tubes in the hours from that of one minute to that of another. Rejects with `DQ_LEDGER_DOWN`. */
export async function quartersBetween(
  history: History,
  first: number,
  last: number,
): Promise<MinuteOfTube[]> {
  const hours = Array.from({ length: hourOf(last) - hourOf(first) + 1 }, (_, i) => hourOf(first) + i);
  return (await Promise.all(hours.map((hour) => history.quarters(hour)))).flat();
}

export function hourOf(minute: number): number {
  return Math.floor(minute / HOUR);
}
