import { type Arguments, grouped, instant, table } from 'nest-handlers/cli';
import type { JobFilter, JobPage } from '../operate/waiting-view.js';
import { clusterCommand } from './cluster.js';

const STATES = ['waiting', 'due', 'retrying'] as const;

export const jobs = clusterCommand({
  name: 'jobs',
  operands: ['TUBE'],
  summary: 'Lists the jobs of a tube that wait, the first due first.',
  about:
    'The index may miss some: the answer says how many are listed. With --json it also gives references, and a\n' +
    'cursor if more follow.',
  flags: {
    state: { value: 'STATE', help: `only these: ${STATES.join(', ')}` },
    from: {
      value: 'TIME',
      help: 'due at this time or later: 2026-12-24T18:00:00Z, or from now, such as -1h',
    },
    to: { value: 'TIME', help: 'due before this time' },
    limit: { value: 'N', help: 'at most so many (default 50, at most 1000)' },
    cursor: { value: 'CURSOR', help: 'goes on where the page before ended' },
  },
  status: '0 listed, 1 a server is away',
  examples: [
    'nest-dq jobs order.cancel',
    'nest-dq jobs order.cancel --state waiting --to 2h --limit 5 --json',
  ],
  async run(args, { runtime }) {
    const now = runtime.now();
    const page = await runtime.inspector.jobs(args.required('TUBE'), filterOf(args, now));
    return { json: page, text: showPage(page, now) };
  },
});

function filterOf(args: Arguments, now: number): JobFilter {
  return {
    state: args.oneOf('state', STATES),
    from: args.instant('from', now),
    to: args.instant('to', now),
    cursor: args.text('cursor', 'the cursor of the page before'),
    limit: args.count('limit', 1, 1_000),
    keys: true,
  };
}

function showPage({ jobs: shown, cursor, listed, about }: JobPage, now: number): string {
  const rows = shown.map(({ id, key, state, dueAt, attempt }) => {
    return [key ?? id, state, instant(dueAt, now), attempt];
  });
  return [
    rows.length === 0 ? 'no such jobs here' : table(['KEY OR ID', 'STATE', 'DUE', 'RUNS'], rows),
    '',
    `the tube has ${grouped(listed)} listed jobs of ${about === undefined ? 'an unknown number' : `about ${grouped(about)}`}`,
    ...(cursor === undefined ? [] : [`… and more: --cursor ${cursor}`]),
  ].join('\n');
}
