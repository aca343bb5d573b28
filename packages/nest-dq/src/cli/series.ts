import {
  column,
  distance,
  distanceCell,
  type Line,
  spanCell,
  type Style,
  styled,
  table,
} from 'nest-handlers/cli';
import type { SeriesRunView, SeriesView } from '../operate/series-view.js';
import { clusterCommand } from './cluster.js';

export const series = clusterCommand({
  name: 'series',
  summary: "Show the application's recurring jobs: when each runs next, and how it ran last.",
  about:
    'Lists the series of all running processes, and those whose job still waits although no process has them. With a\n' +
    'calendar of your own instead of a cron expression, only its processes know when it runs after NEXT.',
  flags: {},
  status: '0 all on time; 1 one was missed; 2 Redis unusable',
  examples: ['nest-dq series', 'nest-dq series --json'],
  async run(_args, { runtime }) {
    const found = await runtime.inspector.series();
    const isMissed = found.some(({ missedSince }) => missedSince !== undefined);
    return { json: found, text: showSeries(found, runtime.now()), status: isMissed ? 1 : 0 };
  },
});

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
  const cellFromNow = (at: Date) => distanceCell(at.getTime() - now);
  const rows = found.map(({ tube, plan, processes, state, next, last, unequal }) => [
    tube,
    state === 'none' ? '' : state,
    next ? cellFromNow(next) : '',
    last ? styled(STYLES[last.outcome], last.outcome) : '',
    last ? cellFromNow(last.endedAt) : '',
    last?.took === undefined ? '' : spanCell(last.took),
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
  const notes = found.flatMap(({ tube, missedSince, last }): Line[] => [
    ...(missedSince ? [styled('yellow', `${tube} should have run ${fromNow(missedSince)}`)] : []),
    ...(last?.error === undefined ? [] : [`${tube} failed in ${last.process}: ${last.error}`]),
  ]);
  const unequal = found.some((each) => each.unequal) ? ['* differs between processes'] : [];
  return [table(head, rows), ...(notes.length + unequal.length > 0 ? ['', ...unequal, ...notes] : [])];
}
