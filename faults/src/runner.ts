import { outcomeIn, type Ending, type RunSettings } from './ending.js';
import { alwaysAsked, type Experiment, type Outcome } from './experiment.js';
import { Lab } from './lab.js';

/** The result of an experiment: a row of the table, and a line of `--json`. Times in milliseconds. */
export interface Row extends Ending {
  readonly number: number;
  readonly name: string;
  readonly jobs: number;
  readonly lost: number;
  readonly early: number;
  readonly duplicates: number;
  readonly ranAfterRevoke: number;
  readonly wrongGeneration: number;
  /** Null: no job was run. */
  readonly worstLateness: number | null;
  readonly latenessP99: number | null;
  /** Null: the experiment measures no recovery. */
  readonly recovery: number | null;
  /** Null: the experiment failed with an error, so Redis was not asked. */
  readonly ledgerRecords: number | null;
}

interface FullOutcome extends Outcome {
  readonly ledgerRecords: number | null;
}

/** Rejects only if the user ended it. If an experiment throws, its row says so, and it has not passed. */
export async function runExperiment(
  experiment: Experiment,
  { keep, ...settings }: RunSettings,
): Promise<Row> {
  const { number, name } = experiment;
  const lab = await Lab.open({ ...settings, name });
  const none = () => ({ found: lab.findings(), checks: [], ledgerRecords: null });
  const outcome = await outcomeIn(lab, keep, () => outcomeOf(experiment, lab), none);
  const { found, recovery = null, ledgerRecords, ending } = outcome;
  return {
    number,
    name,
    jobs: found.jobs,
    lost: found.lost.length,
    early: found.early.length,
    duplicates: found.duplicates.length,
    ranAfterRevoke: found.ranAfterRevoke.length,
    wrongGeneration: found.wrongGeneration.length,
    worstLateness: orNull(found.worstLateness),
    latenessP99: orNull(found.latenessP99),
    recovery,
    ledgerRecords,
    ...ending,
  };
}

async function outcomeOf(experiment: Experiment, lab: Lab): Promise<FullOutcome> {
  const outcome = await experiment.run(lab);
  const checks = [...alwaysAsked(outcome, await lab.copiesLeft()), ...outcome.checks];
  return { ...outcome, checks, ledgerRecords: await lab.ledgerRecords() };
}

export function orNull(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}
