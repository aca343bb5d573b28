import {
  type Answer,
  type Arguments,
  column,
  counted,
  grouped,
  type Line,
  span,
  styled,
  table,
} from 'nest-handlers/cli';
import type { LongRunView, ProcessView } from '../operate/processes.js';
import { progressText } from '../operate/progress-text.js';
import { isProbablyStuck } from '../operate/stuck.js';
import type { DqRuntime } from '../nest/runtime.js';
import { clusterCommand } from './cluster.js';
import { WATCH_FLAG, watched } from './screen.js';
import { unknownAnswer } from './unknown-tube.js';

export const running = clusterCommand({
  name: 'running',
  operands: ['[TUBE]'],
  summary: 'Show what runs now and has taken longer than a second, longest first.',
  about:
    'Each process reports every 5s, at most 100 such runs per tube. USUALLY: average duration of the runs of the tube, if known;\n' +
    'a run that has taken ten times as long, and over 10s, is probably stuck, and red on a terminal. A shorter run is only counted.\n' +
    'PROGRESS: as handlers report it, if any does.',
  flags: { ...WATCH_FLAG },
  status: '0 shown; 1 unknown tube; 2 Redis unusable',
  examples: ['nest-dq running', 'nest-dq running order.cancel --json'],
  run(args, { runtime }) {
    return watched(args, runtime.clock, () => list(args, runtime));
  },
});

/** A run, and who runs it. Durations in ms. */
interface RunInProcess extends LongRunView {
  readonly tube: string;
  /** As `host:pid`. */
  readonly process: string;
  readonly runningFor: number;
  /** Absent if it is unknown. */
  readonly meanRun?: number;
  readonly probablyStuck: boolean;
}

/** The runs in progress. */
interface Running {
  /** Number of all runs, and of processes that have some of them. */
  readonly running: number;
  readonly processes: number;
  readonly runs: readonly RunInProcess[];
}

async function list(args: Arguments, runtime: DqRuntime): Promise<Answer> {
  const { inspector } = runtime;
  const tube = args.operand('TUBE');
  const [processes, histories] = await Promise.all([inspector.processes(), inspector.historyOfTubes()]);
  const means = new Map(histories.map(({ tube: name, meanRun }) => [name, meanRun]));
  const found = runningIn(processes, means, runtime.now(), tube);
  const isEmpty = found.running === 0 && tube !== undefined && !args.has('watch');
  const unknown = isEmpty ? await unknownAnswer(inspector, tube, found) : undefined;
  return unknown ?? { json: found, text: showRunning(found) };
}

/** Returns what the processes run, of one tube or all. `means`: average duration of a run by tube. */
export function runningIn(
  processes: readonly ProcessView[],
  means: ReadonlyMap<string, number | undefined>,
  now: number,
  only?: string,
): Running {
  const loads = processes.flatMap(({ host, pid, tubes }) =>
    tubes
      .filter(({ tube }) => only === undefined || tube === only)
      .map((load) => ({ ...load, process: `${host}:${pid}` })),
  );
  const runs = loads.flatMap(({ tube, process, longRuns }) =>
    longRuns.map((run): RunInProcess => {
      const runningFor = Math.max(0, now - run.since.getTime());
      const meanRun = means.get(tube);
      return {
        tube,
        ...run,
        process,
        runningFor,
        ...(meanRun !== undefined && { meanRun }),
        probablyStuck: meanRun !== undefined && isProbablyStuck(runningFor, meanRun),
      };
    }),
  );
  return {
    running: loads.reduce((sum, each) => sum + each.running, 0),
    processes: new Set(loads.filter((each) => each.running > 0).map(({ process }) => process)).size,
    runs: runs.toSorted((a, b) => b.runningFor - a.runningFor),
  };
}

/** Formats one row per run, followed by the number of all of them. */
export function showRunning({ running: all, processes, runs }: Running): Line[] {
  const hasProgress = runs.some(({ progress }) => progress !== undefined);
  const rows = runs.map(
    ({ id, key, tube, process, attempt, since, runningFor, meanRun, probablyStuck, progress }) => [
      key ?? id,
      tube,
      process,
      attempt,
      since.toISOString().replace(/\.\d+Z$/, 'Z'),
      probablyStuck ? styled('red', span(runningFor)) : span(runningFor),
      meanRun === undefined ? '' : span(meanRun),
      ...(hasProgress ? [progress ? progressText(progress) : ''] : []),
    ],
  );
  const head = [
    'KEY OR ID',
    'TUBE',
    'PROCESS',
    'RUN',
    column('optional', 'STARTED'),
    'FOR',
    'USUALLY',
    ...(hasProgress ? ['PROGRESS'] : []),
  ];
  const total =
    all === 0
      ? 'nothing is running'
      : `running: ${counted(all, 'job')} in ${counted(processes, 'process', 'processes')}`;
  const short = all - runs.length;
  const more = short > 0 && runs.length > 0 ? `, ${grouped(short)} of them for less than a second` : '';
  const none = all > 0 && runs.length === 0 ? ', none for longer than a second' : '';
  return [...(rows.length === 0 ? [] : [table(head, rows), '']), total + more + none];
}
