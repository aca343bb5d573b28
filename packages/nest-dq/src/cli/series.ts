import {
  column,
  didYouMean,
  distance,
  instant,
  type Line,
  nearest,
  span,
  type Style,
  styled,
  table,
} from 'nest-handlers/cli';
import type { SeriesRunView, SeriesView } from '../operate/series-view.js';
import type { SeriesPage } from '../operate/dq-series.js';
import type { DqRuntime } from '../nest/runtime.js';
import { clusterCommand } from './cluster.js';
import { operator } from './operator.js';
import { PAGE_FLAGS, pageOf } from './page-flags.js';

export const series = clusterCommand({
  name: 'series',
  summary: "Show the application's recurring jobs: when each runs next, and how it ran last.",
  about:
    'Lists the series of all running processes, and those whose job still waits although no process has them. With a\n' +
    'calendar of your own instead of a cron expression, only its processes know when it runs after NEXT. Those made at\n' +
    'run time follow, by name, page by page. --json: { series, total, cursor }, where `total` counts those made at run time,\n' +
    'and `cursor` is absent on the last page.',
  flags: {
    name: { value: 'TEXT', help: 'only series made at run time whose names begin with it' },
    ...PAGE_FLAGS,
  },
  status: '0 all on time; 1 one was missed; 2 Redis unusable',
  examples: ['nest-dq series', 'nest-dq series --name acme: --json'],
  async run(args, { runtime }) {
    const prefix = args.text('name', 'the beginning of a name');
    const { limit = DEFAULT_LIMIT, cursor } = pageOf(args);
    const [all, page] = await Promise.all([
      prefix === undefined && cursor === undefined ? runtime.inspector.series() : [],
      runtime.series.list({
        limit,
        ...(prefix !== undefined && { prefix }),
        ...(cursor !== undefined && { cursor }),
      }),
    ]);
    const listed = new Set(page.series.map(({ name }) => name));
    const found = [...all.filter(({ name }) => name === undefined || !listed.has(name)), ...page.series];
    const isMissed = found.some(({ missedSince }) => missedSince !== undefined);
    const text = [...showSeries(found, runtime.now()), ...morePages(page, found)];
    const json = {
      series: found,
      total: page.total,
      ...(page.cursor !== undefined && { cursor: page.cursor }),
    };
    return { json, text, status: isMissed ? 1 : 0 };
  },
});

const SERIES = 'NAME';

export const seriesSkip = clusterCommand({
  name: 'series skip',
  acts: true,
  writes: true,
  operands: [SERIES],
  summary: 'Skip the next run of a series made at run time.',
  flags: {},
  status: '0 skipped; 1 no such series, or no run is waiting; 2 Redis unusable',
  examples: ['nest-dq series skip acme:digest'],
  async run(args, { runtime }) {
    const name = args.required(SERIES);
    const skipped = await runtime.series.skipNext(name, { by: operator() });
    if (!skipped) {
      const unknown = await unknownSeries(runtime, name);
      return { json: null, text: unknown ?? `${name}: nothing to skip`, status: 1 };
    }
    const now = runtime.now();
    const next = skipped.next ? `runs next at ${instant(skipped.next, now)}` : 'was its last run';
    return { json: skipped, text: `${name}: skipped ${instant(skipped.skipped, now)}; ${next}`, status: 0 };
  },
});

export const seriesRemove = clusterCommand({
  name: 'series remove',
  acts: true,
  writes: true,
  operands: [SERIES],
  summary: 'Remove a series made at run time, and revoke its next run.',
  about: 'The application may add it again, as it may at its start.',
  flags: {},
  status: '0 removed; 1 no such series; 2 Redis unusable',
  examples: ['nest-dq series remove acme:digest'],
  async run(args, { runtime }) {
    const name = args.required(SERIES);
    const removed = await runtime.series.remove(name, { by: operator() });
    const text = removed ? `${name}: removed` : await unknownSeries(runtime, name);
    return { json: { removed }, text: text ?? `${name}: not removed`, status: removed ? 0 : 1 };
  },
});

/** Series among which a similar name is looked for. */
const MAX_COMPARED = 1_000;

/** Resolves with the answer about a name that no series made at run time has; undefined if one has it. */
async function unknownSeries({ series }: DqRuntime, name: string): Promise<string | undefined> {
  if (await series.find(name)) return undefined;
  const { series: known } = await series.list({ limit: MAX_COMPARED });
  const similar = nearest(
    name,
    known.map((each) => each.name),
  );
  return `${name}: unknown series${similar.length > 0 ? `.${didYouMean(similar)}` : ''}`;
}

/** Series made at run time in one page. */
const DEFAULT_LIMIT = 50;

function morePages({ total, cursor }: SeriesPage, found: readonly SeriesView[]): Line[] {
  if (cursor === undefined) return [];
  const shown = found.filter(({ name }) => name !== undefined).length;
  return ['', `${shown} of ${total} made at run time; next page: --cursor ${cursor}`];
}

const STYLES: Readonly<Record<SeriesRunView['outcome'], Style>> = {
  completed: 'green',
  retrying: 'yellow',
  dead: 'red',
  failed: 'red',
};

/** Formats one row per series, followed by the missed ones and the errors. */
export function showSeries(found: readonly SeriesView[], now: number): Line[] {
  if (found.length === 0) return ['no process has recurring jobs'];
  const fromNow = (at: Date) => distance(at.getTime() - now);
  const rows = found.map(({ name, tube, plan, processes, state, next, last, unequal }) => [
    name ?? tube,
    state === 'none' ? '' : state,
    next ? fromNow(next) : '',
    last ? styled(STYLES[last.outcome], last.outcome) : '',
    last ? fromNow(last.endedAt) : '',
    last?.took === undefined ? '' : span(last.took),
    processes === 0 ? styled('yellow', 'NONE') : processes,
    unequal ? `${plan} *` : plan,
  ]);
  const head = [
    'SERIES',
    'STATE',
    column('time', 'NEXT'),
    'LAST RUN',
    column('time', 'ENDED'),
    column('time', 'TOOK'),
    'PROCESSES',
    column('reason', 'SCHEDULE'),
  ];
  const notes = found.flatMap(({ name, tube, missedSince, last }): Line[] => [
    ...(missedSince ? [styled('yellow', `${name ?? tube} should have run ${fromNow(missedSince)}`)] : []),
    ...(last?.error === undefined ? [] : [`${name ?? tube} failed in ${last.process}: ${last.error}`]),
  ]);
  const unequal = found.some((each) => each.unequal) ? ['* differs between processes'] : [];
  return [table(head, rows), ...(notes.length + unequal.length > 0 ? ['', ...unequal, ...notes] : [])];
}
