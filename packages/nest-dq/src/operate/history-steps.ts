import type { HistoryBucket } from './history-view.js';
import { checkBetween } from '../producer/call-options.js';

const MINUTE = 60_000;
const DAY = 1_440;

/**
 * Adds up so many minutes as one, beginning with that of `from`: two days by the minute are some 700 kB, which nobody sees in a chart.
 * `DQ_BAD_OPTION`.
 */
export function inSteps(history: readonly HistoryBucket[], from: Date, minutes: number): HistoryBucket[] {
  checkBetween('minutes', minutes, 1, DAY);
  const length = minutes * MINUTE;
  const first = Math.floor(from.getTime() / MINUTE) * MINUTE;
  const steps = new Map<number, HistoryBucket>();
  for (const each of history) {
    const at = first + Math.floor((each.at.getTime() - first) / length) * length;
    const sum = steps.get(at);
    steps.set(at, sum ? sumOf(sum, each) : { ...each, at: new Date(at) });
  }
  return [...steps.values()];
}

/** Both as one, which begins when the first one does. */
export function sumOf(sum: HistoryBucket, more: HistoryBucket): HistoryBucket {
  return {
    at: sum.at,
    scheduled: sum.scheduled + more.scheduled,
    started: sum.started + more.started,
    completed: sum.completed + more.completed,
    failed: sum.failed + more.failed,
    dead: sum.dead + more.dead,
    byLateness: sum.byLateness.map(({ upTo, started }, i) => ({
      upTo,
      started: started + more.byLateness[i]!.started,
    })),
  };
}
