// Pure functions of the measured values.
import { disturbance, totalTimes } from './disturbance.js';
import type { Figure, Row, Target, Unit } from './measure.js';
import type { Rounds } from './rounds.js';

/** The median of an even number of values is the mean of the middle two. All are NaN without values. */
export function figure(values: readonly number[]): Figure {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const median = (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle) - 1]!) / 2;
  return { median, low: sorted[0] ?? NaN, high: sorted.at(-1) ?? NaN };
}

export interface Measured {
  readonly what: string;
  readonly unit: Unit;
  readonly ours: Rounds<number>;
  readonly beside?: Rounds<number>;
  /** @default 'BullMQ' */
  readonly besideName?: string;
  readonly target?: Target;
}

export function row({ what, unit, ours, beside, besideName = 'BullMQ', target }: Measured): Row {
  // Both may be of the same rounds, which count once.
  const times = new Set([ours.times, ...(beside ? [beside.times] : [])]);
  return compared({
    what,
    unit,
    ours: figure(ours.values),
    ...(beside && { beside: { name: besideName, ...figure(beside.values) } }),
    ...(target && { target }),
    disturbance: disturbance(totalTimes([...times])),
  });
}

/** Adds the ratio of the medians, and whether the target is met. */
export function compared({ what, unit, ours, beside, target, disturbance }: Omit<Row, 'ratio' | 'met'>): Row {
  const ratio = beside && beside.median > 0 ? ours.median / beside.median : undefined;
  return {
    what,
    unit,
    ours,
    ...(beside && { beside }),
    ...(ratio !== undefined && { ratio }),
    ...(target && { target, met: isMet(target, ours, ratio) }),
    disturbance,
  };
}

/** A target for the ratio is not met if there is no ratio. Where nothing may be, no round may have anything. */
function isMet({ of, least = -Infinity, most = Infinity }: Target, ours: Figure, ratio = NaN): boolean {
  if (of === 'ours' && most === 0) return ours.high <= 0;
  const value = of === 'ours' ? ours.median : ratio;
  return value >= least && value <= most;
}
