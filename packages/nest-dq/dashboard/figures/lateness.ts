/** Runs by lateness, as the history of a minute has them; null is without limit. */
export type Lateness = readonly { readonly upTo: number | null; readonly started: number }[];

/** Adds the same classes of several minutes. */
export function addLateness(minutes: readonly Lateness[]): Lateness {
  const sums = new Map<number | null, number>();
  for (const { upTo, started } of minutes.flat()) sums.set(upTo, (sums.get(upTo) ?? 0) + started);
  return [...sums]
    .map(([upTo, started]) => ({ upTo, started }))
    .toSorted((a, b) => (a.upTo ?? Infinity) - (b.upTo ?? Infinity));
}

/**
 * So late was this share of the runs, at most: the upper end of a class. Undefined: none began. Infinity: later than the last
 * class tells.
 */
export function latenessAt(share: number, classes: Lateness): number | undefined {
  const all = classes.reduce((sum, { started }) => sum + started, 0);
  if (all === 0) return undefined;
  let sum = 0;
  for (const { upTo, started } of classes) {
    sum += started;
    if (sum >= all * share) return upTo ?? Infinity;
  }
  return Infinity;
}
