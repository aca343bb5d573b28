import {
  type Answer,
  type Arguments,
  column,
  grouped,
  instantCell,
  type Line,
  rangeOf,
  table,
} from 'nest-handlers/cli';
import type { JobFilter, JobPage } from '../operate/waiting-view.js';
import type { DqRuntime } from '../nest/runtime.js';
import { clusterCommand } from './cluster.js';
import { PAGE_FLAGS, pageOf } from './page-flags.js';
import { WATCH_FLAG, watched } from './screen.js';
import { unknownAnswer } from './unknown-tube.js';

const STATES = ['waiting', 'due', 'retrying'] as const;

export const jobs = clusterCommand({
  name: 'jobs',
  operands: ['TUBE'],
  summary: 'List the waiting jobs of a tube, in order of due time.',
  about:
    "Shows only jobs in the index, and how many of the tube's jobs that is. With --json, also prints references,\n" +
    'and a cursor if there are more.',
  flags: {
    ...WATCH_FLAG,
    state: { value: 'STATE', values: STATES, help: `only jobs in this state: ${STATES.join(', ')}` },
    from: {
      value: 'TIME',
      help: 'due at or after this time: 2026-12-24T18:00:00Z, or relative to now, such as -1h',
    },
    to: { value: 'TIME', help: 'due before this time' },
    ...PAGE_FLAGS,
  },
  status: '0 listed; 1 unknown tube; 2 Redis unusable',
  examples: [
    'nest-dq jobs order.cancel',
    'nest-dq jobs order.cancel --state waiting --to 2h --limit 5 --json',
  ],
  run(args, { runtime }) {
    return watched(args, runtime.clock, () => list(args, runtime));
  },
});

async function list(args: Arguments, runtime: DqRuntime): Promise<Answer> {
  const { inspector } = runtime;
  const tube = args.required('TUBE');
  const now = runtime.now();
  const page = await inspector.jobs(tube, filterOf(args, now));
  // A watched tube may be empty for a moment, and nobody looks at standard error then.
  const unknown =
    page.listed === 0 && !args.has('watch') ? await unknownAnswer(inspector, tube, page) : undefined;
  return unknown ?? { json: page, text: showPage(page, now) };
}

function filterOf(args: Arguments, now: number): JobFilter {
  return {
    state: args.oneOf('state', STATES),
    ...rangeOf(args, now),
    ...pageOf(args),
    keys: true,
  };
}

function showPage({ jobs: shown, cursor, listed, about }: JobPage, now: number): Line[] {
  const rows = shown.map(({ id, key, state, dueAt, attempt }) => {
    return [key ?? id, state, instantCell(dueAt, now), attempt];
  });
  return [
    rows.length === 0
      ? 'no matching jobs'
      : table(['KEY OR ID', 'STATE', column('time', 'DUE'), 'RUNS'], rows),
    '',
    `the tube has ${grouped(listed)} listed jobs of ${about === undefined ? 'an unknown number' : `about ${grouped(about)}`}`,
    ...(cursor === undefined ? [] : [`… and more: --cursor ${cursor}`]),
  ];
}
