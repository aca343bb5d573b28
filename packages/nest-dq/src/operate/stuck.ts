/** How many times as long as others a run takes that is probably stuck. */
const TIMES = 10;
/** A run that is shorter than this many ms isn't stuck, however short the others are. */
const LEAST_MS = 10_000;

/** Whether a run that has taken `ms` milliseconds should stand out, where runs of its tube take `mean` on average. */
export function isProbablyStuck(ms: number, mean: number): boolean {
  return ms > LEAST_MS && ms > TIMES * mean;
}
