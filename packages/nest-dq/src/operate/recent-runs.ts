import { PLACES } from '../events/tally.js';
import { ALL_TUBES, type History, QUARTER, quartersBetween } from '../fleet/history.js';

/** How the runs of a tube ended lately: in the last whole quarter of an hour and the current one. */
export interface RecentRuns {
  readonly completed: number;
  readonly failed: number;
}

const MINUTE = 60_000;

/** Resolves with the tubes in which any run ended, by name without the prefix. Rejects with `DQ_LEDGER_DOWN`. */
export async function recentRuns(history: History): Promise<Map<string, RecentRuns>> {
  const now = history.now() / MINUTE;
  const first = (Math.floor(now / QUARTER) - 1) * QUARTER;
  const quarters = await quartersBetween(history, first, now);
  const runs = new Map<string, RecentRuns>();
  for (const { tube, minute, counts } of quarters) {
    if (tube === ALL_TUBES || minute < first) continue;
    const { completed = 0, failed = 0 } = runs.get(tube) ?? {};
    const sum = {
      completed: completed + (counts[PLACES.completed] ?? 0),
      failed: failed + (counts[PLACES.failed] ?? 0),
    };
    if (sum.completed + sum.failed > 0) runs.set(tube, sum);
  }
  return runs;
}
