import type { StreamHistory } from './history.js';

/**
 * The longest time between two starts of handlers, in ms. 0 if there are less than two.
 * @param from Only from then on, and up to `to`: ms since 1970. @default all
 */
export function longestGap(history: StreamHistory, from = 0, to = Infinity): number {
  const starts = history
    .allRuns()
    .map(({ at }) => at)
    .filter((at) => at >= from && at <= to);
  return starts.reduce((longest, at, i) => Math.max(longest, at - (starts[i - 1] ?? at)), 0);
}

/** The longest time from a push to one of these partitions until its answer, of those begun between the two times, in ms. */
export function longestPush(
  history: StreamHistory,
  partitions: readonly number[],
  from: number,
  to: number,
): number {
  const pushes = [...history.pushes.values()].filter(
    ({ partition, askedAt }) =>
      partition !== undefined && partitions.includes(partition) && askedAt >= from && askedAt <= to,
  );
  return pushes.reduce((longest, { askedAt, at }) => Math.max(longest, at - askedAt), 0);
}
