import { type Cell, column, counted, type Line, rangeOf, table } from 'nest-handlers/cli';
import type { DqInspector } from '../operate/inspector.js';
import type { EqualBuckets, TimelineBucket } from '../operate/waiting-view.js';
import { clusterCommand } from './cluster.js';
import { latenessLines } from './lateness.js';
import { unknownAnswer } from './unknown-tube.js';

/** An hour, in ms. */
const HOUR = 3_600_000;
const BUCKETS = 12;
/** Length of the longest bar, in characters. */
const WIDEST = 40;
/** Shorter bars would be indistinguishable. */
const LEAST_BAR = 10;
/** Columns before the bars, with a count of six digits. */
const BEFORE_BARS = 20 + 2 + 7 + 2;

export const due = clusterCommand({
  name: 'due',
  operands: ['[TUBE]'],
  summary: 'Chart the number of jobs coming due over time, for one tube or all of them.',
  about:
    'Counts only jobs in the index, in at most 1,000 tubes. For one tube also its capacity, and when its jobs will start late.',
  flags: {
    from: {
      value: 'TIME',
      help: 'start: 2026-12-24T18:00:00Z, or relative to now, such as -1h (default: now)',
    },
    to: { value: 'TIME', help: 'end, exclusive (default: an hour after the start)' },
    buckets: { value: 'N', help: `number of bars (default ${BUCKETS}, at most 200)` },
  },
  status: '0 shown; 1 unknown tube, or a node is unreachable; 2 Redis unusable',
  examples: ['nest-dq due', 'nest-dq due order.cancel --from -1h --to 1d --buckets 50 --json'],
  async run(args, { runtime }) {
    const { inspector } = runtime;
    const now = runtime.now();
    const range = rangeOf(args, now);
    const from = range.from ?? new Date(now);
    const to = range.to ?? new Date(from.getTime() + HOUR);
    const options = { from, to, buckets: args.count('buckets', 1, 200) ?? BUCKETS };
    const tube = args.operand('TUBE');
    if (tube !== undefined) {
      const { buckets, ...forecast } = await inspector.forecast(tube, options);
      const json = { buckets, away: [], ...forecast };
      const isEmpty = buckets.every(({ jobs }) => jobs === 0);
      const unknown = isEmpty ? await unknownAnswer(inspector, tube, json) : undefined;
      return (
        unknown ?? {
          json,
          text: (width) => [...showBars(buckets, now, width), ...latenessLines({ buckets, ...forecast })],
        }
      );
    }
    const { buckets, away } = await ofAllTubes(inspector, options);
    const gap = away.length > 0 ? [`tubes may be missing, no answer from: ${away.join(', ')}`] : [];
    return {
      json: { buckets, away },
      // Tubes that nobody named aren't none.
      text: (width) => [
        ...(buckets.length === 0 && gap.length > 0 ? [] : showBars(buckets, now, width)),
        ...gap,
      ],
      status: away.length > 0 ? 1 : 0,
    };
  },
});

/** Sums the buckets of all tubes known to the nodes. */
async function ofAllTubes(inspector: DqInspector, options: EqualBuckets) {
  const { tubes, away } = await inspector.tubes();
  let sum: TimelineBucket[] | undefined;
  for (const { tube } of tubes) {
    const buckets = await inspector.timeline(tube, options);
    sum = sum ? sum.map((bucket, i) => ({ ...bucket, jobs: bucket.jobs + buckets[i]!.jobs })) : buckets;
  }
  return { buckets: sum ?? [], away };
}

/** Charts the buckets from the first to the last with jobs. `now`: ledger time in ms. */
export function showBars(buckets: readonly TimelineBucket[], now: number, width = Infinity): Line[] {
  if (buckets.length === 0) return ['no tubes'];
  const hasJobs = ({ jobs }: TimelineBucket) => jobs > 0;
  const [first, last] = [buckets.findIndex(hasJobs), buckets.findLastIndex(hasJobs)];
  const range = `from ${timeText(buckets[0]!.from)} to ${timeText(buckets.at(-1)!.to)}`;
  if (first < 0) return [`no jobs come due ${range}`];
  const most = Math.max(...buckets.map(({ jobs }) => jobs));
  const widest = Math.min(WIDEST, Math.max(LEAST_BAR, width - BEFORE_BARS));
  const rows = buckets
    .slice(first, last + 1)
    .map(({ from, jobs }) => [fromCell(from, now), jobs, '█'.repeat(Math.ceil((jobs / most) * widest))]);
  const empty = buckets.length - rows.length;
  const note = empty > 0 ? [`${range}; ${counted(empty, 'row')} without jobs before or after left out`] : [];
  return [table([column('time', 'FROM'), 'JOBS', ''], rows), ...note];
}

/** On a narrow terminal, without the date if it is of today (UTC). */
function fromCell(from: Date, now: number): Cell {
  const text = timeText(from);
  const [today = ''] = timeText(new Date(now)).split('T');
  return text.startsWith(today) ? { text, shorter: [text.slice(today.length + 1)] } : text;
}

function timeText(at: Date): string {
  return at.toISOString().replace(/\.\d+Z$/, 'Z');
}
