// What experiments measure beside the checker's findings. Pure functions of the history; times in milliseconds.
import type { History, Run } from './history.js';

/** A job that is less late than this is not overdue: a busy machine is no fault. */
const TOLERANCE = 500;
/** It is over when for so long no job was overdue. */
const QUIET = 1_000;

/**
 * From `since` to the moment from which on, for a second at least, no job was overdue and not yet started; 0 if that
 * was so from the beginning. A job that never started does not count here: it is lost.
 */
export function recoveryTime(history: History, since: number): number {
  const waits: (readonly [from: number, to: number])[] = [];
  for (const { schedules, runs } of history.all()) {
    for (const { generation, due, at, answer } of schedules) {
      const start = runs.find((run) => run.generation === generation);
      const overdueFrom = Math.max(due, at) + TOLERANCE;
      if (answer !== 'refused' && start && start.at > Math.max(overdueFrom, since)) {
        waits.push([overdueFrom, start.at]);
      }
    }
  }
  let end = since;
  for (const [from, to] of waits.toSorted(([a], [b]) => a - b)) {
    if (from >= end + QUIET) break;
    end = Math.max(end, to);
  }
  return end - since;
}

/** From `since` to the first start after it; NaN if there was none. */
export function firstStartAfter(history: History, since: number): number {
  let first = Infinity;
  for (const { at } of history.allRuns()) if (at > since && at < first) first = at;
  return first === Infinity ? NaN : first - since;
}

/** The runs that were going on at some moment between the two, both included. */
export function runsDuring(history: History, from: number, to: number): Run[] {
  return [...history.allRuns()].filter(({ at, end }) => at <= to && (end === undefined || end.at >= from));
}

/** Starts of a schedule beyond its first. */
export function extraStarts(history: History): Run[] {
  const extra: Run[] = [];
  for (const { runs } of history.all()) {
    const seen = new Set<number>();
    for (const run of runs) {
      if (seen.has(run.generation)) extra.push(run);
      seen.add(run.generation);
    }
  }
  return extra;
}

/** How late these jobs were started, as the checker counts it; each schedule's first start, in no order. */
export function latenesses(history: History, jobs: Iterable<number>): number[] {
  const late: number[] = [];
  for (const job of jobs) {
    const { schedules, runs } = history.of(job);
    for (const { generation, due, at, answer } of schedules) {
      const start = runs.find((run) => run.generation === generation);
      if (answer !== 'refused' && start) late.push(Math.max(0, start.at - Math.max(due, at)));
    }
  }
  return late;
}
