import type { DqRuntime } from '../nest/runtime.js';
import type { Explanation } from '../operate/explanation.js';
import { inSteps } from '../operate/history-view.js';
import { Refusal } from './failures.js';
import {
  anything,
  Input,
  isSet,
  JOB_FIELDS,
  jobRef,
  names,
  number,
  span,
  text,
  time,
  times,
} from './input.js';
import {
  KAFKA_FILTER,
  KAFKA_LETTER,
  type KafkaClusters,
  kafkaCount,
  kafkaFilter,
  kafkaLetter,
} from './kafka.js';
import { lateTubes } from './late-tubes.js';
import { LETTER_PAGE, letterFilter, letterPage, withoutPayload } from './letters.js';
import type { FinishedJob } from '../operate/finished-view.js';
import type { ForecastSpread } from '../operate/forecast.js';
import type { DqInspector } from '../operate/inspector.js';
import type { TubeView } from '../operate/tube-view.js';
import {
  checkTimeline,
  type JobFilter,
  type TimelineBucket,
  type TimelineOptions,
} from '../operate/waiting-view.js';
import { isRefText } from '../copies/job-ref.js';
import type { SearchResult } from '../operate/search.js';

/** One route for reading. Its result is sent as JSON: a shape of wire.ts. */
export interface Read {
  /** The fields of its query. */
  readonly query: readonly string[];
  /** `tube` is the name in its path, if there is one. */
  readonly read: (
    runtime: DqRuntime,
    query: Input,
    tube: string,
    kafka: KafkaClusters,
    /** Whether the viewer may see what a job carries besides its payload. */
    showsHeaders: boolean,
  ) => Promise<unknown>;
}

const RANGE = ['from', 'to'] as const;
const JOB_PAGE = ['state', ...RANGE, 'prefix', 'cursor', 'limit', 'brief'] as const;
const EDGES = ['edges'] as const;
const SPREAD = ['dueFrom', 'dueTo', 'spread', 'perMinute'] as const;

/** Reads by route, below `api/`. */
export const READS: Readonly<Record<string, Read>> = {
  tubes: { query: [], read: ({ inspector }) => inspector.tubes() },
  'tubes/:tube': { query: [], read: ({ inspector }, _, tube) => inspector.tube(tube) },
  'tubes/:tube/jobs': {
    query: JOB_PAGE,
    read: ({ inspector }, query, tube) =>
      query.has('prefix')
        ? inspector.jobsPage({ tube, filter: jobFilter(query), ...query.part('prefix', text) })
        : inspector.jobs(tube, jobFilter(query)),
  },
  jobs: {
    query: JOB_PAGE,
    read: ({ inspector }, query) =>
      inspector.jobsPage({ filter: jobFilter(query), ...query.part('prefix', text) }),
  },
  'tubes/:tube/finished': {
    query: [...RANGE, 'cursor', 'limit'],
    read: async ({ inspector }, query, tube) => {
      const { jobs, ...rest } = await inspector.finished(tube, {
        ...query.part('from', time),
        ...query.part('to', time),
        ...query.part('cursor', text),
        ...query.part('limit', number),
      });
      return { jobs: jobs.map(withoutResult), ...rest };
    },
  },
  'tubes/:tube/timeline': {
    query: EDGES,
    read: ({ inspector }, query, tube) => inspector.timeline(tube, { edges: query.must('edges', times) }),
  },
  'tubes/:tube/forecast': {
    query: [...EDGES, ...SPREAD],
    read: ({ inspector }, query, tube) =>
      inspector.forecast(tube, { edges: query.must('edges', times) }, spreadIn(query)),
  },
  timeline: {
    query: EDGES,
    read: ({ inspector }, query) => timelines(inspector, { edges: query.must('edges', times) }),
  },
  'timeline/late': {
    query: EDGES,
    read: ({ inspector }, query) => lateTubes(inspector, { edges: query.must('edges', times) }),
  },
  history: {
    query: ['tube', ...RANGE, 'minutes'],
    read: async ({ inspector }, query) => {
      const from = query.must('from', time);
      const { minutes = 1 } = query.part('minutes', number);
      const history = await inspector.history({
        ...query.part('tube', text),
        from,
        to: query.must('to', time),
      });
      return inSteps(history, from, minutes).map(({ byLateness, ...counts }) => ({
        ...counts,
        byLateness: byLateness.filter(({ started }) => started > 0),
      }));
    },
  },
  'history/tubes': { query: [], read: ({ inspector }) => inspector.historyOfTubes() },
  job: {
    query: JOB_FIELDS,
    read: async ({ inspector, options }, query, _, __, showsHeaders) => {
      const { headers, finished, ...rest } = await inspector.explain(jobRef(query, options.prefix));
      const revokedBy = rest.state === 'revoked' ? await revokeOf(inspector, rest) : undefined;
      return {
        ...withoutLetterPayload(rest),
        ...(revokedBy && { revokedBy }),
        ...(showsHeaders && headers && { headers }),
        ...(finished && { finished: showsHeaders ? finished : withoutResult(finished) }),
      };
    },
  },
  'tubes/:tube/dead': {
    query: LETTER_PAGE,
    read: ({ inspector }, query, tube) => letterPage(inspector, tube, query),
  },
  dead: {
    query: ['tube', ...LETTER_PAGE],
    read: ({ inspector }, query) => letterPage(inspector, query.part('tube', text).tube, query),
  },
  'dead/groups': {
    query: ['tube', 'diedFrom', 'diedTo', 'why', 'error', 'limit'],
    read: ({ inspector }, query) =>
      inspector.deadGroups({ ...query.part('tube', text), ...letterFilter(query) }),
  },
  acts: {
    query: ['cursor', 'limit'],
    read: ({ inspector }, query) =>
      inspector.acts({ ...query.part('cursor', text), ...query.part('limit', number) }),
  },
  search: { query: ['text'], read: search },
  'search/prefix': {
    query: ['prefix', 'tubes'],
    read: ({ inspector }, query) =>
      inspector.searchPrefix(query.must('prefix', text), query.must('tubes', names)),
  },
  nodes: { query: [], read: ({ inspector }) => inspector.nodes() },
  ledger: { query: [], read: ({ inspector }) => inspector.ledger() },
  processes: { query: [], read: ({ inspector }) => inspector.processes() },
  series: { query: [], read: ({ inspector }) => inspector.series() },
  'series/planned': {
    query: ['prefix', 'cursor', 'limit'],
    read: async ({ series }, query) => {
      const page = await series.list({
        ...query.part('prefix', text),
        ...query.part('cursor', text),
        ...query.part('limit', number),
      });
      return { ...page, series: page.series.map(({ payload: _payload, ...each }) => each) };
    },
  },
  health: { query: [], read: async ({ health }) => (await health.check()).dq },
  'kafka/topics': { query: ['cluster'], read: (_, query, __, kafka) => kafka.of(query).letters.topics() },
  'kafka/count': {
    query: ['cluster', 'topic'],
    read: (_, query, __, kafka) => kafkaCount(kafka, query),
  },
  'kafka/letters': {
    query: ['cluster', 'topic', ...KAFKA_FILTER, 'cursor', 'limit'],
    read: (_, query, __, kafka) =>
      kafka.of(query).letters.list(query.must('topic', text), {
        filter: kafkaFilter(query),
        ...query.part('cursor', text),
        ...query.part('limit', number),
      }),
  },
  'kafka/letter': {
    query: KAFKA_LETTER,
    read: async (_, query, __, kafka) => {
      const { value: _value, headers: _headers, ...letter } = await kafkaLetter(kafka, query);
      return letter;
    },
  },
};

function jobFilter(query: Input): JobFilter {
  return {
    ...query.part('state', anything<'due'>),
    ...query.part('from', time),
    ...query.part('to', time),
    ...query.part('cursor', text),
    ...query.part('limit', number),
    keys: !query.part('brief', isSet).brief,
    errors: true,
  };
}

/** The jobs of a forecast that are spread; undefined if none are. */
function spreadIn(query: Input): ForecastSpread | undefined {
  if (SPREAD.every((name) => !query.has(name))) return undefined;
  const range = { ...query.part('dueFrom', time), ...query.part('dueTo', time) };
  if (query.has('perMinute')) return { ...range, perMinute: query.must('perMinute', number) };
  return { ...range, spread: query.must('spread', span) };
}

function withoutLetterPayload({ deadLetter, ...rest }: Pick<Explanation, 'deadLetter'>): object {
  return { ...rest, ...(deadLetter && { deadLetter: withoutPayload(deadLetter) }) };
}

/** Acts among which that of a revoked job is looked for. */
const LATEST_ACTS = 200;

/** The operator's act that revoked a job; undefined if it was older, or not an operator's. */
async function revokeOf(inspector: DqInspector, { tube, id }: Pick<Explanation, 'tube' | 'id'>) {
  const { acts } = await inspector.acts({ limit: LATEST_ACTS });
  const found = acts.find(
    ({ act, on, count }) =>
      (act === 'revoke' || act === 'abort') && count > 0 && on.tube === tube && on.id === id,
  );
  return found && { act: found.act, by: found.by, at: found.at };
}

/** Maximum number of tubes in a chart. */
const MAX_TUBES = 20;

/**
 * The timelines of the tubes with the most waiting jobs; one that couldn't be counted may be among them. Rejects as
 * `DqInspector.timeline` does, and if no node named its tubes in time: no tubes isn't no jobs.
 */
export async function timelines(
  inspector: Pick<DqInspector, 'tubes' | 'timeline'>,
  options: TimelineOptions,
): Promise<{
  tubes: { tube: string; buckets: TimelineBucket[] }[];
  others: number;
  away: readonly string[];
}> {
  checkTimeline(options); // even if no tube has jobs
  const { tubes, away } = await inspector.tubes();
  if (tubes.length === 0 && away.length > 0)
    throw new Refusal(503, 'NODES_AWAY', `no node named its tubes in time: ${away.join(', ')}`);
  const used = tubes.filter((tube) => jobsOf(tube) > 0).toSorted((a, b) => jobsOf(b) - jobsOf(a));
  const shown = used.slice(0, MAX_TUBES);
  const lines = shown.map(async ({ tube }) => ({ tube, buckets: await inspector.timeline(tube, options) }));
  return { tubes: await Promise.all(lines), others: used.length - shown.length, away };
}

/** Approximate number of waiting and due jobs. One that nobody counted in time may have the most. */
function jobsOf({ waiting, due = 0, listed }: TubeView): number {
  if (waiting === undefined && listed === undefined) return Number.MAX_SAFE_INTEGER;
  return Math.max((waiting ?? 0) + due, listed ?? 0);
}

/** Leads a person from what they have to the job, or, since an id and a key need their tube, to the jobs of that name. */
async function search(
  { inspector, options }: DqRuntime,
  query: Input,
): Promise<{ ref: string } | SearchResult> {
  const given = query.must('text', text).trim();
  const ref = refIn(given);
  if (ref === undefined) return inspector.search(given);
  jobRef(new Input('the search', { ref }, ['ref']), options.prefix); // or it throws
  return { ref };
}

/** The `ref` in a pasted string: the string itself, or a receipt as JSON. Undefined if it may be an id or a key. */
export function refIn(given: string): string | undefined {
  if (isRefText(given)) return given;
  if (!given.startsWith('{')) return undefined;
  let receipt: unknown;
  try {
    receipt = JSON.parse(given);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined; // a key may start like this too
    throw error;
  }
  const { ref } = receipt as { readonly ref?: unknown };
  return typeof ref === 'string' ? ref : undefined;
}

function withoutResult({ result: _result, ...job }: FinishedJob): Omit<FinishedJob, 'result'> {
  return job;
}
