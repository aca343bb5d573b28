import { alwaysAsked, type Experiment, type Outcome } from './experiment.js';
import { Lab, type LabSettings } from './lab.js';

/** What an experiment came to: a line of the table, and of `--json`. Times in milliseconds. */
export interface Row {
  readonly number: number;
  readonly name: string;
  readonly jobs: number;
  readonly lost: number;
  readonly early: number;
  readonly duplicates: number;
  readonly ranAfterRevoke: number;
  readonly wrongGeneration: number;
  /** Null: nothing was run. */
  readonly worstLateness: number | null;
  readonly latenessP99: number | null;
  /** Null: nothing was to recover. */
  readonly recovery: number | null;
  /** Null: it could not be asked. */
  readonly ledgerRecords: number | null;
  readonly took: number;
  readonly passed: boolean;
  /** What was not as it should be. */
  readonly why: readonly string[];
  readonly notes: readonly string[];
  /** The folder of all logs, where they were kept. */
  readonly logs?: string;
}

export interface RunSettings extends Omit<LabSettings, 'name'> {
  /** Keeps the logs also of what passed. */
  readonly keep: boolean;
}

interface FullOutcome extends Outcome {
  readonly ledgerRecords: number | null;
  readonly why: readonly string[];
}

/** Never rejects but when the user ended it: an experiment that breaks off has not passed, and says why. */
export async function runExperiment(
  experiment: Experiment,
  { keep, ...settings }: RunSettings,
): Promise<Row> {
  const { number, name } = experiment;
  const begun = performance.now();
  const lab = await Lab.open({ ...settings, name });
  let passed = false;
  try {
    const outcome = await outcomeOf(experiment, lab);
    const why = outcome.why.filter((text) => text !== '');
    passed = why.length === 0;
    const { found, recovery = null, notes = [], ledgerRecords } = outcome;
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
      took: Math.round(performance.now() - begun),
      passed,
      why,
      notes,
      ...((keep || !passed) && { logs: lab.folder }),
    };
  } finally {
    await lab.close((keep || !passed) && !settings.signal.aborted);
  }
}

async function outcomeOf(experiment: Experiment, lab: Lab): Promise<FullOutcome> {
  try {
    const outcome = await experiment.run(lab);
    const why = [...alwaysAsked(outcome, await lab.copiesLeft()), ...outcome.checks];
    return { ...outcome, ledgerRecords: await lab.ledgerRecords(), why };
  } catch (error) {
    lab.signal.throwIfAborted();
    const why = [`it broke off: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`];
    return { found: lab.findings(), checks: [], ledgerRecords: null, why };
  }
}

function orNull(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}
