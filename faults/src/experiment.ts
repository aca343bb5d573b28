import type { Findings } from './checker.js';
import type { Run } from './history.js';
import type { Lab } from './lab.js';
import type { Schedule } from './log.js';

export interface Experiment {
  /** As in docs/guarantees.md. */
  readonly number: number;
  readonly name: string;
  /** The fault. */
  readonly what: string;
  /** What is asked of the outcome, beside what is asked of all: see `alwaysAsked`. */
  readonly passes: string;
  /** How many jobs it adds, by default and in the small version. */
  readonly jobs: number;
  readonly smallJobs: number;
  run(lab: Lab): Promise<Outcome>;
}

export interface Outcome {
  readonly found: Findings;
  /** Milliseconds; the experiment says from when to when. Absent: nothing was to recover. */
  readonly recovery?: number;
  /**
   * How many processes were stopped in their tracks. Each may have been between a claim's answer and the handler, so that
   * it starts one run when others have its job.
   * @default 0
   */
  readonly frozen?: number;
  /** What its own conditions say: an empty text, or why it did not pass. */
  readonly checks: readonly string[];
  /** What a reader of its row should know: what was measured beside, or could not be tried here. @default none */
  readonly notes?: readonly string[];
}

/** A check that holds for `value` up to `most`. NaN never passes. */
export function atMost(what: string, value: number, most: number, unit = ''): string {
  return value <= most ? '' : `${what}: ${value}${unit}, at most ${most}${unit} allowed`;
}

export function atLeast(what: string, value: number, least: number, unit = ''): string {
  return value >= least ? '' : `${what}: ${value}${unit}, at least ${least}${unit} expected`;
}

export function none(what: string, list: readonly unknown[]): string {
  return atMost(what, list.length, 0);
}

/** None but runs of these jobs. */
export function noneBut(what: string, runs: readonly Run[], jobs: ReadonlySet<number>): string {
  return none(
    what,
    runs.filter(({ job }) => !jobs.has(job)),
  );
}

export function allStored(what: string, schedules: readonly Schedule[]): string {
  return none(
    what,
    schedules.filter(({ answer }) => answer !== 'stored'),
  );
}

/** What is asked in every experiment. `copiesLeft`: on the nodes, when all was over. */
export function alwaysAsked({ found, frozen = 0 }: Outcome, copiesLeft: number): string[] {
  return [
    none('lost', found.lost),
    none('early', found.early),
    none('ran after a revoke', found.ranAfterRevoke),
    none('wrong generation', found.wrongGeneration),
    none('ran although its add failed', found.strays),
    none('two runs with one fence', found.sameFence),
    atMost('started after a run with a greater fence', found.staleStarts.length, frozen),
    atMost('copies left on the nodes', copiesLeft, 0),
  ];
}
