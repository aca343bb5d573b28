import { column, counted, type Cell, type Line, span, table } from 'nest-handlers/cli';
import { type HistoryBucket, inSteps, sumOf } from '../operate/history-view.js';
import { clusterCommand } from './cluster.js';
import { unknownAnswer } from './unknown-tube.js';

/** An hour, in ms. */
const HOUR = 3_600_000;
/** Longer ranges are shown by the hour. */
const LONG = 3 * HOUR;
/** Lateness above which a run counts as late. */
const LATE_MS = 1_000;
const WORDS = ['minute', 'hour'] as const;

export const history = clusterCommand({
  name: 'history',
  operands: ['[TUBE]'],
  summary: 'Count adds, runs and dead letters over time, up to two days back, for one tube or all of them.',
  about:
    'ADDED counts jobs; STARTED, COMPLETED and FAILED count runs; DEAD counts dead letters, EXPIRED jobs that expired. LATE: runs started more\n' +
    'than a second late; LATEST: upper bound of their lateness; MEAN: average duration of ended runs. The last few\n' +
    'seconds may be missing. With --json, the last bucket of lateness has `upTo: null`.',
  flags: {
    since: {
      value: 'TIME',
      help: 'start: an age, such as 2h, or 2026-12-24T18:00:00Z (default: an hour ago)',
    },
    until: { value: 'TIME', help: 'end: an age, or a time (default: now)' },
    by: { value: 'UNIT', values: WORDS, help: 'minute or hour (default: hour if longer than three hours)' },
  },
  status: '0 shown; 1 unknown tube; 2 Redis unusable',
  examples: ['nest-dq history', 'nest-dq history order.cancel --since 2d --by hour --json'],
  async run(args, { runtime }) {
    const now = runtime.now();
    const from = args.ago('since', now) ?? new Date(now - HOUR);
    const to = args.ago('until', now) ?? new Date(now);
    const by = args.oneOf('by', WORDS) ?? (to.getTime() - from.getTime() > LONG ? 'hour' : 'minute');
    const tube = args.operand('TUBE');
    const minutes = await runtime.inspector.history({ from, to, tube });
    const buckets = by === 'hour' ? byHour(minutes) : minutes;
    const json = { by, buckets };
    const unknown =
      buckets.length === 0 && tube !== undefined
        ? await unknownAnswer(runtime.inspector, tube, json)
        : undefined;
    return unknown ?? { json, text: showBuckets(buckets, by, now) };
  },
});

/** Sums each hour in which anything happened. */
export function byHour(minutes: readonly HistoryBucket[]): HistoryBucket[] {
  return inSteps(minutes, new Date(0), 60);
}

/** Formats the table, with the totals in its last row. */
export function showBuckets(
  buckets: readonly HistoryBucket[],
  by: (typeof WORDS)[number],
  now: number,
): Line[] {
  if (buckets.length === 0) return ['no activity reported'];
  const sum = buckets.reduce(sumOf);
  const lines = [...buckets.map((each) => rowOf(timeCell(each.at, now), each)), rowOf('all', sum)];
  const head = [
    column('time', by.toUpperCase()),
    'ADDED',
    'STARTED',
    'COMPLETED',
    'FAILED',
    'DEAD',
    'EXPIRED',
    'LATE',
    'LATEST',
    'MEAN',
  ];
  const left = `${by}s without activity are left out`;
  return [table(head, lines), '', `${counted(buckets.length, by)}; ${left}`];
}

function rowOf(name: Cell, bucket: HistoryBucket) {
  const { scheduled, started, completed, failed, dead, expired, timed, runTime, byLateness } = bucket;
  const late = byLateness.reduce((count, each) => count + (each.upTo > LATE_MS ? each.started : 0), 0);
  const mean = timed > 0 ? meanText(runTime / timed) : '';
  return [name, scheduled, started, completed, failed, dead, expired, late, latestOf(byLateness), mean];
}

function meanText(ms: number): string {
  return ms < 1 ? '< 1ms' : span(ms);
}

function latestOf(byLateness: HistoryBucket['byLateness']): string {
  const worst = byLateness.findLastIndex(({ started }) => started > 0);
  if (worst < 0) return '';
  const { upTo } = byLateness[worst]!;
  return upTo === Infinity ? `over ${span(byLateness[worst - 1]!.upTo)}` : `≤ ${span(upTo)}`;
}

/** On a narrow terminal, without the date if it is of today (UTC), or else without the year. */
function timeCell(at: Date, now: number): Cell {
  const text = at.toISOString().replace(/:\d\d\.\d+Z$/, 'Z');
  const isToday = text.startsWith(new Date(now).toISOString().slice(0, 10));
  return { text, shorter: [isToday ? text.slice('2026-11-23T'.length) : text.slice('2026-'.length)] };
}
