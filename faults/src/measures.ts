// Measurements of experiments in addition to the findings of the checker: pure functions of the history. Times in milliseconds.
import type { History, Run } from './history.js';

/** Only a job that is later than this counts as overdue, because a busy machine makes jobs late, too. */
const TOLERANCE = 500;
/** The recovery is over when no job was overdue for this long. */
const QUIET = 1_000;

/**
 * The time from `since` until the last overdue job was started, where no job is overdue for a second after that. 0 if no
 * job was overdue in the first second. A job that never started does not count here: it is lost.
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

/** The time from `since` to the first start after it. NaN if there was none. */
export function firstStartAfter(history: History, since: number): number {
  let first = Infinity;
  for (const { at } of history.allRuns()) if (at > since && at < first) first = at;
  return first === Infinity ? NaN : first - since;
}

/** The runs that were running at some time from `from` to `to`. */
export function runsDuring(history: History, from: number, to: number): Run[] {
  return [...history.allRuns()].filter(({ at, end }) => at <= to && (end === undefined || end.at >= from));
}

/** All starts of each schedule but its first. */
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

/** How late the first start of each schedule of these jobs was that was due in this time, counted as the checker does. In no order. */
export function latenesses(
  history: History,
  jobs: Iterable<number>,
  from = -Infinity,
  to = Infinity,
): number[] {
  const late: number[] = [];
  for (const job of jobs) {
    const { schedules, runs } = history.of(job);
    for (const { generation, due, at, answer } of schedules) {
      const start = runs.find((run) => run.generation === generation);
      const overdueFrom = Math.max(due, at);
      if (answer === 'refused' || !start || overdueFrom < from || overdueFrom >= to) continue;
      late.push(Math.max(0, start.at - overdueFrom));
    }
  }
  return late;
}

/**
 * Returns the maximum number of concurrent runs with the same name. A run without an end lasted until `diedAt` of its process,
 * or is still running.
 */
export function mostAtOnce(
  history: History,
  diedAt: ReadonlyMap<string, number>,
  nameOf: (run: Run) => unknown,
): number {
  const changes: { readonly at: number; readonly by: 1 | -1; readonly name: unknown }[] = [];
  for (const run of history.allRuns()) {
    const name = nameOf(run);
    changes.push({ at: run.at, by: 1, name });
    changes.push({ at: run.end?.at ?? diedAt.get(run.process) ?? Infinity, by: -1, name });
  }
  const running = new Map<unknown, number>();
  let most = 0;
  // Within one millisecond the ends come first, since their order is unknown.
  for (const { by, name } of changes.toSorted((a, b) => a.at - b.at || a.by - b.by)) {
    const count = (running.get(name) ?? 0) + by;
    running.set(name, count);
    most = Math.max(most, count);
  }
  return most;
}

/**
 * By how many microseconds a run was granted too soon for a rate that lets one begin in each `interval`, at most; 0 if none was.
 * A fence is the ledger time of its grant, in microseconds.
 */
export function mostTooSoon(history: History, interval: number): number {
  let turn = 0;
  let most = 0;
  for (const { fence } of [...history.allRuns()].sort((a, b) => a.fence - b.fence)) {
    most = Math.max(most, turn - fence);
    turn = Math.max(turn, fence) + interval;
  }
  return most;
}
