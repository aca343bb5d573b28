import { outcomeIn, type Ending, type RunSettings } from '../ending.js';
import { orNull } from '../runner.js';
import { seconds, Table, type Column } from '../table.js';
import { alwaysAsked, repeatsByCause, type StreamExperiment, type StreamOutcome } from './experiment.js';
import { StreamLab } from './lab.js';

/** The result of an experiment with streams: a row of the table, and a line of `--json`. Times in milliseconds. */
export interface StreamRow extends Ending {
  readonly number: number;
  readonly name: string;
  readonly messages: number;
  readonly lost: number;
  /** Runs, and places in the log, against the order of their key. */
  readonly outOfOrder: number;
  readonly repeats: number;
  readonly unexplained: number;
  readonly unknown: number;
  /** Null: nothing was run. */
  readonly worstDelay: number | null;
  /** Null: the experiment measures no recovery. */
  readonly recovery: number | null;
}

const COLUMNS: readonly Column<StreamRow>[] = [
  { title: ['', 'messages'], width: 8, cell: ({ messages }) => String(messages) },
  { title: ['', 'lost'], width: 5, cell: ({ lost }) => String(lost) },
  { title: ['order', 'broken'], width: 6, cell: ({ outOfOrder }) => String(outOfOrder) },
  { title: ['', 'repeats'], width: 7, cell: ({ repeats }) => String(repeats) },
  { title: ['not ex-', 'plained'], width: 7, cell: ({ unexplained }) => String(unexplained) },
  { title: ['', 'unknown'], width: 7, cell: ({ unknown }) => String(unknown) },
  { title: ['worst', 'delay'], width: 8, cell: ({ worstDelay }) => seconds(worstDelay) },
  { title: ['recovery', 'time'], width: 8, cell: ({ recovery }) => seconds(recovery) },
  { title: ['', 'passed'], width: 6, cell: ({ passed }) => (passed ? 'yes' : 'NO') },
];

export const streamTable = new Table(COLUMNS);

/** Rejects only if the user ended it. If an experiment throws, its row says so, and it has not passed. */
export async function runStreamExperiment(
  experiment: StreamExperiment,
  { keep, ...settings }: RunSettings,
): Promise<StreamRow> {
  const { number, name } = experiment;
  const lab = await StreamLab.open({ ...settings, name });
  const none = () => ({ found: lab.findings(), checks: [] });
  const {
    found,
    recovery = null,
    ending,
  } = await outcomeIn(lab, keep, () => outcomeOf(experiment, lab), none);
  return {
    number,
    name,
    messages: found.messages,
    lost: found.lost.length,
    outOfOrder: found.outOfOrder.length + found.overlapping.length + found.misplaced.length,
    repeats: found.repeats.length,
    unexplained: found.unexplained.length,
    unknown: found.unknown.length,
    worstDelay: orNull(found.worstDelay),
    recovery,
    ...ending,
  };
}

async function outcomeOf(experiment: StreamExperiment, lab: StreamLab): Promise<StreamOutcome> {
  const outcome = await experiment.run(lab);
  const { found, checks, notes = [] } = outcome;
  return {
    ...outcome,
    checks: [...alwaysAsked(found, lab.jobs, await lab.lag()), ...checks],
    notes: [...repeatsByCause(found), ...notes],
  };
}
