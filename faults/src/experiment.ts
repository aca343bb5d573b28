import type { Findings } from './checker.js';
import type { Run } from './history.js';
import type { Lab } from './lab.js';
import type { Schedule } from './log.js';

/** Description of an experiment, for the table and `--help`. */
export interface Described {
  /** As in the documentation. */
  readonly number: number;
  readonly name: string;
  /** The fault, or what an attacker does, for `--help`. */
  readonly what: string;
}

/** Fields that all kinds of experiments share. */
export interface AnyExperiment extends Described {
  /** Pass criterion of this experiment, in addition to the criteria of all of its kind. */
  readonly passes: string;
  /** The number of jobs, or of messages, that it adds by default, and in the small version. */
  readonly jobs: number;
  readonly smallJobs: number;
}

export interface Experiment extends AnyExperiment {
  run(lab: Lab): Promise<Outcome>;
}

export interface Outcome {
  readonly found: Findings;
  /** Milliseconds. The experiment's comment says what it measures. Absent: it measures no recovery. */
  readonly recovery?: number;
  /**
   * How many processes were frozen. Each may have been frozen between the answer to a claim and the handler. Then it starts
   * that run later, although another process has the job by then.
   * @default 0
   */
  readonly frozen?: number;
  /** The results of its own checks: each is an empty text, or says why the experiment did not pass. */
  readonly checks: readonly string[];
  /** For the reader of its row: what else was measured, or could not be tried on this machine. @default none */
  readonly notes?: readonly string[];
}

/** Passes if `value` is at most `most`. NaN never passes. */
export function atMost(what: string, value: number, most: number, unit = ''): string {
  return value <= most ? '' : `${what}: ${value}${unit}, at most ${most}${unit} allowed`;
}

export function atLeast(what: string, value: number, least: number, unit = ''): string {
  return value >= least ? '' : `${what}: ${value}${unit}, at least ${least}${unit} expected`;
}

export function none(what: string, list: readonly unknown[]): string {
  return atMost(what, list.length, 0);
}

/** Passes if all these runs are runs of these jobs. */
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

/** The checks of every experiment. `copiesLeft`: the copies on the nodes at the end. */
export function alwaysAsked({ found, frozen = 0 }: Outcome, copiesLeft: number): string[] {
  return [
    none('lost', found.lost),
    none('early', found.early),
    none('ran after a revoke', found.ranAfterRevoke),
    none('wrong generation', found.wrongGeneration),
    none('ran although its add failed', found.strays),
    none('two runs with the same fence', found.sameFence),
    atMost('started after a run with a greater fence', found.staleStarts.length, frozen),
    atMost('copies left on the nodes', copiesLeft, 0),
  ];
}
