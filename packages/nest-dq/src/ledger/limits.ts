// The limits of a tube's runs: what claims ask for, and what the ledger tells of them.

/**
 * How many runs of a tube may begin in a time, and go on at the same time, in all processes. What is absent is not limited.
 * The limits of whoever claims hold.
 */
export interface Limits {
  /** Microseconds between the beginnings of two runs, on average; a whole number. */
  readonly interval?: number;
  /** Runs that may begin at once after a time with few of them. @default 1 */
  readonly burst?: number;
  /** Runs that go on at the same time. */
  readonly concurrency?: number;
  /** The same, of jobs with the same group. */
  readonly perGroup?: number;
}

/** The limits of a tube's runs, as its handler's option `limit` has them. What is absent is not limited. */
export interface TubeLimits {
  /** So many runs begin in the time `per`. */
  readonly rate?: number;
  /** Milliseconds. There if `rate` is. */
  readonly per?: number;
  /** So many may begin at once after a quiet time. There if `rate` is. */
  readonly burst?: number;
  /** So many runs go on at the same time. */
  readonly concurrency?: number;
  /** So many runs of jobs with the same group go on at the same time. */
  readonly perGroup?: number;
}

/** Why a claim was refused by a limit. */
export type LimitKind = 'concurrency' | 'group' | 'rate';

export interface UsageRequest {
  /** @default no group is asked for */
  readonly group?: string | undefined;
}

/** What counts against the limits of a tube. */
export interface Usage {
  /** Runs whose lease lasts, of claims with `concurrency` or `perGroup`. */
  readonly running: number;
  /** Those of the group. The ones of processes that ended without a word are in it until somebody claims. */
  readonly inGroup: number;
  /** Microseconds of ledger time: when the next run may begin if there are no bursts; 0 if no rate was ever asked for. */
  readonly turn: number;
}

/**
 * What a run counts as: its job's group if groups are limited, else an empty text; undefined if runs are not counted. Whoever
 * was granted a run with a permit says it again in each call about the run.
 */
export function permitOf({ concurrency, perGroup }: Limits, group: string | undefined): string | undefined {
  if (perGroup !== undefined && group !== undefined) return group;
  return concurrency === undefined ? undefined : '';
}

/** What claims ask for. The interval is rounded up, so that no more runs begin than the rate allows. */
export function limitsOf({ rate, per = 0, burst = 1, concurrency, perGroup }: TubeLimits): Limits {
  return {
    ...(rate !== undefined && { interval: Math.ceil((per * 1_000) / rate), burst }),
    ...(concurrency !== undefined && { concurrency }),
    ...(perGroup !== undefined && { perGroup }),
  };
}
