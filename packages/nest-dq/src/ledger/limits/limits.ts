// The limits of a tube's runs: what claims request, and what the ledger reports.
import type { TubeLimits } from '../../api/limit-options.js';

/**
 * How many runs of a tube may start per time and run concurrently, over all processes. What is absent isn't limited. The limits
 * of whoever claims apply.
 */
export interface Limits {
  /** Average time between the starts of two runs, in whole microseconds. */
  readonly interval?: number;
  /** Runs that may start at once after a quiet time. @default 1 */
  readonly burst?: number;
  /** Maximum concurrent runs. */
  readonly concurrency?: number;
  /** Maximum concurrent runs of jobs with the same group. */
  readonly perGroup?: number;
}

/** The limit that refused a claim. */
export type LimitKind = 'concurrency' | 'group' | 'rate';

export interface UsageRequest {
  /** The group to count. @default none */
  readonly group?: string | undefined;
}

/** Usage counted against the limits of a tube. */
export interface Usage {
  /** Runs with a valid lease, of claims with `concurrency` or `perGroup`. */
  readonly running: number;
  /** Running jobs of the group. Those of processes that died are included until somebody claims. */
  readonly inGroup: number;
  /** Ledger time, in microseconds, at which the next run may start if there are no bursts; 0 if no rate was ever requested. */
  readonly turn: number;
}

/**
 * Returns what a run counts as: its job's group if groups are limited, otherwise an empty string; undefined if runs aren't
 * counted. Whoever was granted a run with a permit repeats it in each call about the run.
 */
export function permitOf({ concurrency, perGroup }: Limits, group: string | undefined): string | undefined {
  if (perGroup !== undefined && group !== undefined) return group;
  return concurrency === undefined ? undefined : '';
}

/** Returns what claims request. The interval is rounded up, so that no more runs start than the rate allows. */
export function limitsOf({ rate, per = 0, burst = 1, concurrency, perGroup }: TubeLimits): Limits {
  return {
    ...(rate !== undefined && { interval: Math.ceil((per * 1_000) / rate), burst }),
    ...(concurrency !== undefined && { concurrency }),
    ...(perGroup !== undefined && { perGroup }),
  };
}
