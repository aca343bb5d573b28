import { alwaysAsked, type Experiment, type Outcome } from './experiment.js';
import { Lab, type LabSettings } from './lab.js';

/** The result of an experiment: a row of the table, and a line of `--json`. Times in milliseconds. */
export interface Row {
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
  readonly took: number;
  readonly passed: boolean;
  /** Why it did not pass. */
  readonly why: readonly string[];
  readonly notes: readonly string[];
  /** The folder of all logs, if they were kept. */
  readonly logs?: string;
}

export interface RunSettings extends Omit<LabSettings, 'name'> {
  /** Keeps the logs of experiments that passed, too. */
  readonly keep: boolean;
}

interface FullOutcome extends Outcome {
  readonly ledgerRecords: number | null;
  readonly why: readonly string[];
}

/** Rejects only if the user ended it. If an experiment throws, its row says so, and it has not passed. */
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
    const why = [
      `the experiment failed with an error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
    ];
    return { found: lab.findings(), checks: [], ledgerRecords: null, why };
  }
}

function orNull(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}
