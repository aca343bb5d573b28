// The experiments, with jobs and with streams, and the attacks: each kind has a table of its own.
import { ATTACK_EXPERIMENTS } from './attacks/experiments.js';
import { attackTable, runAttack } from './attacks/runner.js';
import type { Ending, RunSettings } from './ending.js';
import type { AnyExperiment, Described } from './experiment.js';
import { EXPERIMENTS } from './experiments.js';
import { MODEL_CHECK, runModelCheck } from './model-check.js';
import { runExperiment } from './runner.js';
import { STREAM_EXPERIMENTS } from './streams/experiments.js';
import { runStreamExperiment, streamTable } from './streams/runner.js';
import { jobTable, type Table } from './table.js';

export interface Suite {
  /** The lines above the rows. */
  readonly heading: string;
  readonly all: readonly Runnable[];
}

export interface Runnable extends Described {
  /** Rejects only if the user ended it. */
  run(
    settings: Settings,
  ): Promise<{ readonly row: Ending; /** The rest of its row. */ readonly text: string }>;
}

/** `jobs` is absent: as many as the experiment says. */
export type Settings = Omit<RunSettings, 'jobs'> &
  Partial<Pick<RunSettings, 'jobs'>> & {
    /** For attacks only: see `AttackSettings`. */
    readonly unsealed: boolean;
  };

const modelCheck = {
  ...MODEL_CHECK,
  run: ({ jobs, small, signal }: Settings) =>
    runModelCheck(jobs ?? (small ? MODEL_CHECK.smallSeeds : MODEL_CHECK.seeds), signal),
};

/** Experiments with nest-dq. */
export const JOBS = suiteOf(jobTable, [...EXPERIMENTS.map((each) => sized(each, runExperiment)), modelCheck]);

/** Experiments with nest-kq. */
export const STREAMS = suiteOf(
  streamTable,
  STREAM_EXPERIMENTS.map((each) => sized(each, runStreamExperiment)),
);

/** Attacks on sealed jobs of nest-dq. */
export const ATTACKS = suiteOf(
  attackTable,
  ATTACK_EXPERIMENTS.map((each) => sized(each, runAttack)),
);

function suiteOf<R extends Ending>(
  table: Table<R>,
  all: readonly (Described & { run(settings: Settings): Promise<R> })[],
): Suite {
  return {
    heading: table.heading(),
    all: all.map((each) => ({
      number: each.number,
      name: each.name,
      what: each.what,
      async run(settings) {
        const row = await each.run(settings);
        return { row, text: table.restOfRow(row) };
      },
    })),
  };
}

function sized<E extends AnyExperiment, R>(
  experiment: E,
  run: (experiment: E, settings: RunSettings & Pick<Settings, 'unsealed'>) => Promise<R>,
): Described & { run(settings: Settings): Promise<R> } {
  const { number, name, what, jobs: usual, smallJobs } = experiment;
  return {
    number,
    name,
    what,
    run: ({ jobs, ...settings }) =>
      run(experiment, { ...settings, jobs: jobs ?? (settings.small ? smallJobs : usual) }),
  };
}
