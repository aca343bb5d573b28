import type { LongRun, TubeLoad } from '../ledger/presence.js';
import type { TubeContext } from './tube-context.js';

/** Milliseconds. */
const LONG = 1_000;
const MOST_LONG = 100;

/** What this process has at hand of a tube, without asking anybody. */
export function loadOf({ tube, budget, runs, clock, handling }: TubeContext, held: number): TubeLoad {
  const now = clock.now();
  const long: LongRun[] = [];
  for (const { id, grant, hasSlot, startedAt } of runs.values()) {
    const runFor = now - startedAt;
    if (hasSlot && runFor >= LONG && long.length < MOST_LONG)
      long.push({ id, attempt: grant.attempt, runFor });
  }
  const { limit } = handling;
  return {
    tube,
    concurrency: budget.concurrency,
    ...(limit && { limits: limit }),
    running: budget.handling,
    held,
    long,
  };
}
