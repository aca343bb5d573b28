import type { TubeLimits } from '../api/limit-options.js';
import type { HistoryBucket } from './history-view.js';

/** How many jobs a tube can run per minute, and how that is known. */
export type Capacity =
  | {
      readonly perMinute: number;
      /** Measured: the most runs that succeeded in a minute that began and ended with a backlog. */
      readonly by: 'measured';
      /** Start of that minute. */
      readonly at: Date;
    }
  | {
      readonly perMinute: number;
      /** The rate limit of its handler. */
      readonly by: 'limit';
    };

/** Runs that start later than this show a backlog, in ms: more than a node or a process that dies costs one job. */
const BACKLOG_MS = 10_000;
const MINUTE = 60_000;

/**
 * The highest minute of a history that shows the capacity: it and its neighbours started most of their runs late, so there was
 * something to run all the time. Undefined if the tube was never that busy.
 */
export function measuredCapacity(history: readonly HistoryBucket[]): Capacity | undefined {
  let best: HistoryBucket | undefined;
  for (const [i, minute] of history.entries()) {
    const all = [history[i - 1], minute, history[i + 1]];
    const isWithin = all.every((each, k) => {
      if (!each || each.at.getTime() !== minute.at.getTime() + (k - 1) * MINUTE) return false;
      return isBacklogged(each);
    });
    if (isWithin && minute.completed > (best?.completed ?? 0)) best = minute;
  }
  return best && { perMinute: best.completed, by: 'measured', at: best.at };
}

function isBacklogged({ started, byLateness }: HistoryBucket): boolean {
  const late = byLateness
    .filter(({ upTo }) => upTo > BACKLOG_MS)
    .reduce((sum, each) => sum + each.started, 0);
  return late * 2 > started;
}

/** The rate limit of a handler; undefined if it has none. */
export function limitCapacity({ rate, per }: TubeLimits = {}): Capacity | undefined {
  if (rate === undefined || per === undefined) return undefined;
  return { perMinute: (rate * MINUTE) / per, by: 'limit' };
}

/** The lower of both. */
export function lowerOf(a: Capacity | undefined, b: Capacity | undefined): Capacity | undefined {
  if (!a || !b) return a ?? b;
  return a.perMinute <= b.perMinute ? a : b;
}
