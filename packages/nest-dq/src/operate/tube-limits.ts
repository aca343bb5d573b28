import type { TubeLimits } from '../ledger/limits.js';
import type { TubeLoad } from '../ledger/presence.js';

/** The limits of a tube, as a process told them within the last 15 s. What is absent is not limited. */
export interface TubeLimitsView extends TubeLimits {
  /**
   * How many runs go on that count: with `concurrency` all, with `perGroup` alone those of jobs with a group. Absent: the tube has
   * neither, or the ledger did not tell.
   */
  readonly running?: number;
  /** There if another process has other limits: each goes by its own. */
  readonly unequal?: true;
}

/** The limits that processes tell of one tube: those of the first one. */
export function limitsTold(loads: readonly TubeLoad[]): TubeLimitsView | undefined {
  const limits = loads.find((load) => load.limits)?.limits;
  if (!limits) return undefined;
  const own = textOf(limits);
  return { ...limits, ...(loads.some((load) => textOf(load.limits) !== own) && { unequal: true }) };
}

/** Whether the ledger counts runs for these limits. */
export function countsRuns({ concurrency, perGroup }: TubeLimitsView): boolean {
  return concurrency !== undefined || perGroup !== undefined;
}

function textOf({ rate, per, burst, concurrency, perGroup }: TubeLimits = {}): string {
  return String([rate, per, burst, concurrency, perGroup]);
}
