import { check } from './checks.js';
import { drawPlan } from './plan.js';
import { shrink } from './shrink.js';
import { simulate } from './simulation.js';

/** The result of some seeds. */
export interface ModelRow {
  readonly seeds: number;
  /** Adds that were answered with a receipt. */
  readonly jobs: number;
  readonly starts: number;
  readonly faults: number;
  readonly failed: readonly FailedSeed[];
}

export interface FailedSeed {
  readonly seed: number;
  /** Each begins with the name of the broken promise. */
  readonly found: readonly string[];
}

/** Runs `count` seeds from `first` on. */
export async function runSeeds(first: number, count: number): Promise<ModelRow> {
  let [jobs, starts, faults] = [0, 0, 0];
  const failed: FailedSeed[] = [];
  for (let seed = first; seed < first + count; seed++) {
    const plan = drawPlan(seed);
    const simulation = await simulate(plan);
    const { history } = simulation;
    jobs += history.calls.filter(({ receipt }) => receipt).length;
    starts += history.starts.length;
    faults += plan.actions.filter((action) => 'fault' in action).length;
    const found = check(simulation);
    if (found.length > 0) failed.push({ seed, found });
  }
  return { seeds: count, jobs, starts, faults, failed };
}

/** Throws an Error with the first failed seed explained, if there is one. */
export async function refuseFailed({ failed }: ModelRow): Promise<void> {
  const [failure] = failed;
  if (failure) throw new Error(`${failed.length} seeds failed; ${await explain(failure.seed)}`);
}

/** For a person: the promises that a seed breaks, and everything that happens in the smallest plan that breaks the same one. */
async function explain(seed: number): Promise<string> {
  const plan = drawPlan(seed);
  const smallest = await shrink(plan);
  const simulation = await simulate(smallest);
  return [
    `seed ${seed}: replay it with MODEL_FROM=${seed} MODEL_SEEDS=1`,
    ...check(simulation),
    '',
    `plan (${smallest.actions.length} of ${plan.actions.length} actions, ${plan.processes} processes, concurrency ${plan.concurrency}, latency ${plan.latency} ms):`,
    ...smallest.actions.map((action) => JSON.stringify(action)),
    '',
    'what happens (seconds):',
    ...simulation.history.lines,
  ].join('\n');
}
