import type { StreamHistory } from './history.js';

/**
 * The longest time without a start of a handler, in ms, as far as the logs have been read.
 * @param from Ms since 1970. @default the first start
 * @param to @default the last start
 */
export function longestGap(history: StreamHistory, from?: number, to?: number): number {
  const starts = history.allRuns().map(({ at }) => at);
  const first = from ?? starts[0] ?? 0;
  const last = to ?? Math.max(first, starts.at(-1) ?? 0);
  const times = [first, ...starts.filter((at) => at > first && at < last), last];
  return times.reduce((longest, at, i) => Math.max(longest, at - (times[i - 1] ?? at)), 0);
}

/**
 * The longest time from the answer to a push whose message has not started, given between the two times, until a handler
 * starts with any message of its partition, or until `to`, in ms. So it leaves out for how long the brokers stored nothing.
 */
export function longestWait(history: StreamHistory, from: number, to: number): number {
  const starts: Record<number, number[]> = {};
  const firsts = new Map<number, number>();
  for (const { message, partition, at } of history.allRuns()) {
    (starts[partition] ??= []).push(at);
    if (!firsts.has(message)) firsts.set(message, at);
  }
  const answered = [...history.pushes.values()].filter(
    ({ message, answer, at }) =>
      answer === 'stored' && at >= from && at < to && (firsts.get(message) ?? Infinity) > at,
  );
  return answered.reduce((longest, { partition, at }) => {
    const next = starts[partition!]?.find((start) => start >= at) ?? to;
    return Math.max(longest, Math.min(next, to) - at);
  }, 0);
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
