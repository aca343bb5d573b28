import {
  type Answer,
  type Arguments,
  column,
  facts,
  instant,
  type Line,
  pastRangeOf,
  recentCell,
  span,
  table,
} from 'nest-handlers/cli';
import type { FinishedFilter, FinishedJob, FinishedPage } from '../operate/finished-view.js';
import { progressText } from '../operate/progress-text.js';
import type { DqRuntime } from '../nest/runtime.js';
import { clusterCommand } from './cluster.js';
import { PAGE_FLAGS, pageOf } from './page-flags.js';
import { WATCH_FLAG, watched } from './screen.js';
import { unknownAnswer } from './unknown-tube.js';

export const finished = clusterCommand({
  name: 'finished',
  operands: ['TUBE'],
  summary: 'List the completed jobs of a tube, newest first.',
  about:
    'Shows only jobs of handlers with the option keepDone. With --json, also prints results, and a cursor if there\n' +
    'are more.',
  flags: {
    ...WATCH_FLAG,
    key: { value: 'KEY', help: 'only the job with this key: its last end' },
    id: { value: 'ID', help: 'only the job with this id' },
    from: {
      value: 'TIME',
      help: 'ended at or after this time: 2026-12-24T18:00:00Z, or relative to now, such as -1h',
    },
    to: { value: 'TIME', help: 'ended before this time' },
    ...PAGE_FLAGS,
  },
  status: '0 listed; 1 unknown tube, or no job with this key or id; 2 Redis unusable',
  examples: [
    'nest-dq finished order.cancel --from -1d',
    'nest-dq finished order.cancel --key order-7',
    'nest-dq finished order.cancel --limit 5 --json',
  ],
  run(args, { runtime }) {
    return watched(args, runtime.clock, () => list(args, runtime));
  },
});

async function list(args: Arguments, runtime: DqRuntime): Promise<Answer> {
  const { inspector } = runtime;
  const tube = args.required('TUBE');
  const now = runtime.now();
  const filter = filterOf(args, now);
  const page = await inspector.finished(tube, filter);
  const isEmpty = page.jobs.length === 0;
  // A watched tube may be empty for a moment, and nobody looks at standard error then.
  const unknown = isEmpty && !args.has('watch') ? await unknownAnswer(inspector, tube, page) : undefined;
  const isNamed = filter.key !== undefined || filter.id !== undefined;
  return unknown ?? { json: page, text: showPage(page, now), status: isEmpty && isNamed ? 1 : 0 };
}

function filterOf(args: Arguments, now: number): FinishedFilter {
  const [key, id] = [args.text('key', 'the key of a job'), args.text('id', 'the id of a job')];
  if (key !== undefined && id !== undefined) throw args.wrong('expected either --key or --id, not both.');
  return {
    ...(key !== undefined && { key }),
    ...(id !== undefined && { id }),
    ...pastRangeOf(args, now),
    ...pageOf(args),
  };
}

function showPage({ jobs, cursor }: FinishedPage, now: number): Line[] {
  const rows = jobs.map(({ id, key, endedAt, took, attempt, process }) => [
    key ?? id,
    recentCell(endedAt, now),
    span(took),
    attempt,
    process,
  ]);
  const head = ['KEY OR ID', column('time', 'ENDED'), column('time', 'TOOK'), 'RUNS', 'PROCESS'];
  return [
    rows.length === 0 ? 'no completed jobs are kept that match' : table(head, rows),
    ...(cursor === undefined ? [] : [`… and more: --cursor ${cursor}`]),
  ];
}

/** How a completed job ended, as facts with names. */
export function finishedFacts(
  { endedAt, took, process, result, resultLeftOut, progress }: FinishedJob,
  now: number,
): Readonly<Record<string, string | undefined>> {
  return {
    ended: `${instant(endedAt, now)}, took ${span(took)}`,
    process,
    progress: progress && progressText(progress),
    result: resultLeftOut === undefined ? JSON.stringify(result) : `not kept: ${resultLeftOut}`,
  };
}

/** A completed job of which only the end is known. */
export function showFinished(job: FinishedJob, now: number): string[] {
  const { tube, key, id, attempt } = job;
  return facts({ tube, key, id, state: 'done', ...finishedFacts(job, now), runs: String(attempt) });
}
