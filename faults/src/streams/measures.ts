import type { StreamHistory } from './history.js';

/** The longest time between two starts of handlers, in ms. 0 if there are less than two. */
export function longestGap(history: StreamHistory): number {
  const starts = history.allRuns().map(({ at }) => at);
  return starts.reduce((longest, at, i) => Math.max(longest, at - (starts[i - 1] ?? at)), 0);
}
