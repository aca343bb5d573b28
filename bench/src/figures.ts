// Pure functions of the measured values.
import type { Figure, Row, Target, Unit } from './measure.js';

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
  /** One value for each round. */
  readonly ours: readonly number[];
  readonly beside?: readonly number[];
  /** @default 'BullMQ' */
  readonly besideName?: string;
  readonly target?: Target;
}

export function row({ what, unit, ours, beside, besideName = 'BullMQ', target }: Measured): Row {
  const own = figure(ours);
  const other = beside && { name: besideName, ...figure(beside) };
  const ratio = other && other.median > 0 ? own.median / other.median : undefined;
  return {
    what,
    unit,
    ours: own,
    ...(other && { beside: other }),
    ...(ratio !== undefined && { ratio }),
    ...(target && { target, met: isMet(target, own.median, ratio) }),
  };
}

/** A target for the ratio is not met if there is no ratio. */
function isMet({ of, least = -Infinity, most = Infinity }: Target, ours: number, ratio = NaN): boolean {
  const value = of === 'ours' ? ours : ratio;
  return value >= least && value <= most;
}
