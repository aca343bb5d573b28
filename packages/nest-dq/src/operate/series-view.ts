import type { JobView } from '../api/job.js';
import type { Presence } from '../fleet/presence.js';
import type { SeriesOutcome, SeriesRunRecord, SeriesRuns } from '../fleet/series-runs.js';
import { DqError } from '../errors.js';
import { readShaped, type Shape } from '../ledger/foreign-json.js';
import type { ClusterProducer } from '../producer/cluster-producer.js';
import type { SeriesEntry } from '../recurring/series-plan.js';
import { occurrencesOfPlan } from '../recurring/occurrences.js';
import type { SeriesScheduler } from '../recurring/series-scheduler.js';
import { SERIES_KEY, type Series } from '../recurring/series.js';

/** A series, and its one job: a `@Recurring` of any process, or one made at run time. */
export interface SeriesView {
  /** Its name, if it was made at run time. */
  readonly name?: string;
  /** Name of the tube without the prefix. */
  readonly tube: string;
  /** Key of its job. */
  readonly key: string;
  /** The cron expression with its time zone, or the name of the calendar. */
  readonly plan: string;
  /** True if processes have different plans, as during a deployment. `plan` is then this process's, or that of one of them. */
  readonly unequal?: true;
  /** Number of processes that have it, as announced within the last 15 s. If it is 0, its job still waits, but nobody runs it. */
  readonly processes: number;
  /** State of its job. `none` if there is none, because no process of the series has started, or its plan has no occurrence left. */
  readonly state: JobView['state'] | 'none';
  /** When it runs next: by its job if that waits, by its plan if that runs. Absent if nothing is scheduled. */
  readonly next?: Date;
  /**
   * When it runs after `next`: at most the first four times, fewer if the plan ends. Empty if only another process can tell: a
   * calendar, or a cron expression where croner isn't installed.
   */
  readonly later: readonly Date[];
  /** Its last run in any process. Absent if none has ended since it's remembered. */
  readonly last?: SeriesRunView;
  /** When it should have run: more than a minute ago, and nobody has run it. Absent if it's on time. */
  readonly missedSince?: Date;
}

/** The last run of a series, as its process reported it. A run cut off by a crash isn't reported. */
export interface SeriesRunView {
  /**
   * `completed`: it succeeded. `retrying`: it failed, and will be retried. `dead`: it failed, and became a dead letter. `failed`: it
   * failed, and nothing follows, because the job was revoked or replaced meanwhile.
   */
  readonly outcome: SeriesOutcome;
  /** When it was due. */
  readonly dueAt: Date;
  /** When it ended, by the ledger's clock. */
  readonly endedAt: Date;
  /** Number of the run of this occurrence, from 1. */
  readonly attempt: number;
  /** Duration of the handler, in ms. Absent if the job died without a run. */
  readonly took?: number;
  /** `host:pid` of the process that reported it. */
  readonly process: string;
  /** Name and first line of the error. Absent if it succeeded, or `keepErrors` is off. */
  readonly error?: string;
}

/** A series made at run time. */
export interface PlannedSeries extends SeriesView {
  readonly name: string;
  /** When its plan was set, or the plan's `startAt` if that is later. */
  readonly begunAt: Date;
  /** No occurrence is later. Absent if it has no such end. */
  readonly endAt?: Date;
  /** Number of occurrences from `begunAt` on. Absent if any number. */
  readonly times?: number;
  /** Max time in ms by which its occurrences are late on purpose. Absent if they aren't. */
  readonly jitter?: number;
  /** Absent if it has none. An `EncodedPayload` if a codec wrote it. */
  readonly payload?: unknown;
}

interface SeriesSources {
  readonly series: SeriesScheduler;
  readonly presence: Pick<Presence, 'all'>;
  readonly seriesRuns: Pick<SeriesRuns, 'read'>;
  readonly producer: Pick<ClusterProducer, 'find' | 'ledgerTime'>;
}

/** A series of this process, or one that another announces. `after` is absent if only that one knows its occurrences. */
export type KnownSeries = Pick<Series, 'tube' | 'plan'> & Partial<Pick<Series, 'after' | 'key'>>;

const MAX_SERIES = 1_000;
const MAX_LATER = 4;
/** An occurrence that started within this time wasn't missed. */
const MISSED_AFTER_MS = 60_000;

/**
 * Resolves with the series of this process, then those of others, and then those that nobody has any more, but whose job still
 * waits. Rejects with `DQ_LEDGER_DOWN`.
 * @param times Maximum number of times after the next one.
 */
export async function viewsOfSeries(
  { series, presence, seriesRuns, producer }: SeriesSources,
  times: number = MAX_LATER,
): Promise<SeriesView[]> {
  const [present, runs] = await Promise.all([presence.all(), lastRuns(seriesRuns)]);
  const plans = new Map<string, string[]>(series.all().map(({ tube }) => [tube, []]));
  for (const { tube, plan } of present.flatMap(({ record }) => record.tubes)) {
    if (plan === undefined) continue;
    const others = plans.get(tube);
    if (others) others.push(plan);
    else plans.set(tube, [plan]);
  }
  for (const tube of runs.keys()) if (!plans.has(tube)) plans.set(tube, []);
  const own = new Map(series.all().map((each) => [each.tube, each]));
  const views = Array.from(plans)
    .slice(0, MAX_SERIES)
    .map(async ([tube, announced]) => {
      const run = runs.get(tube);
      const plan = announced[0] ?? run?.plan ?? '';
      const known = own.get(tube) ?? { tube, plan, ...(await occurrencesOfPlan(plan)) };
      const isUnequal = announced.some((each) => each !== known.plan);
      const isOurs = own.has(tube) || announced.length > 0;
      const view = await viewOfSeries(known, producer, { run, isOurs, times });
      return { ...view, processes: announced.length, ...(isUnequal && { unequal: true as const }) };
    });
  const isLeft = ({ tube, processes, state }: SeriesView) =>
    processes > 0 || own.has(tube) || state === 'waiting' || state === 'retrying' || state === 'running';
  return (await Promise.all(views)).filter(isLeft);
}

interface Surroundings {
  /** Its last run, if that is known. */
  readonly run?: SeriesRunRecord | undefined;
  /** Whether any process has it, and so schedules it. Without a job it's otherwise over. @default true */
  readonly isOurs?: boolean;
  /** Maximum number of times after the next one. @default 4 */
  readonly times?: number;
}

/** Rejects with `DQ_LEDGER_DOWN`. */
export async function viewOfSeries(
  series: KnownSeries,
  producer: SeriesSources['producer'],
  { run, isOurs = true, times = MAX_LATER }: Surroundings = {},
): Promise<Omit<SeriesView, 'processes' | 'unequal'>> {
  const { tube, plan, key = SERIES_KEY } = series;
  const job = await producer.find({ tube, key }, { patience: 0 });
  const now = await producer.ledgerTime(tube);
  const next = nextOf(series, job, now);
  const due = next ?? (isOurs ? unscheduled(series, job, run) : undefined);
  const isMissed = job?.state !== 'running' && due !== undefined && now - due > MISSED_AFTER_MS;
  return {
    tube,
    key,
    plan,
    state: job?.state ?? 'none',
    ...(next !== undefined && { next: new Date(next) }),
    later: next === undefined ? [] : laterThan(next, series, times),
    ...(run && { last: runView(run) }),
    ...(isMissed && { missedSince: new Date(due) }),
  };
}

interface Planned {
  readonly name: string;
  readonly entry: SeriesEntry;
  readonly series: Series;
  /** Its last run, as stored. */
  readonly run: string | undefined;
  /** Number of processes that consume its tube. */
  readonly processes: number;
  readonly times: number | undefined;
}

/** Rejects with `DQ_LEDGER_DOWN`. */
export async function plannedView(
  { name, entry, series, run, processes, times }: Planned,
  producer: SeriesSources['producer'],
): Promise<PlannedSeries> {
  const last = run === undefined ? undefined : readShaped<SeriesRunRecord>(run, RUN);
  const view = await viewOfSeries(series, producer, { run: last, ...(times !== undefined && { times }) });
  const { endAt, times: count, jitter } = entry.spec;
  return {
    name,
    ...view,
    processes,
    begunAt: new Date(entry.begunAt ?? 0),
    ...(endAt !== undefined && { endAt: new Date(endAt) }),
    ...(count !== undefined && { times: count }),
    ...(jitter !== undefined && { jitter }),
    ...(entry.payload !== undefined && { payload: entry.payload }),
  };
}

const RUN: Shape = {
  fields: {
    tube: 'text',
    plan: 'text',
    outcome: 'text',
    dueAt: 'number',
    endedAt: 'number',
    attempt: 'number',
    took: 'number?',
    process: 'text',
    error: 'text?',
  },
};

/** By tube, without what another program wrote. */
async function lastRuns(runs: Pick<SeriesRuns, 'read'>): Promise<Map<string, SeriesRunRecord>> {
  const records = (await runs.read()).map((text) => readShaped<SeriesRunRecord>(text, RUN));
  return new Map(records.flatMap((record) => (record ? [[record.tube, record] as const] : [])));
}

function runView({ tube: _tube, plan: _plan, dueAt, endedAt, ...rest }: SeriesRunRecord): SeriesRunView {
  return { ...rest, dueAt: new Date(dueAt), endedAt: new Date(endedAt) };
}

function nextOf(series: KnownSeries, job: JobView | undefined, now: number): number | undefined {
  if (job?.state === 'waiting' || job?.state === 'retrying') return job.dueAt.getTime();
  return job?.state === 'running' ? occurrenceAfter(series, now) : undefined;
}

/** When a series without a waiting job should be scheduled, as far as that is known. */
function unscheduled(
  series: KnownSeries,
  job: JobView | undefined,
  run: SeriesRunRecord | undefined,
): number | undefined {
  const last = Math.max(job?.dueAt.getTime() ?? 0, run?.endedAt ?? 0);
  return last === 0 ? undefined : occurrenceAfter(series, last);
}

function laterThan(next: number, series: KnownSeries, most: number): Date[] {
  const times: Date[] = [];
  while (times.length < most) {
    const at = occurrenceAfter(series, times.at(-1)?.getTime() ?? next);
    if (at === undefined) break;
    times.push(new Date(at));
  }
  return times;
}

/** Undefined where the plan ends, is unknown here, or fails: the process that schedules by it reports that. */
function occurrenceAfter(series: KnownSeries, instant: number): number | undefined {
  try {
    return series.after?.(instant);
  } catch (thrown) {
    if (!(thrown instanceof DqError)) throw thrown;
    return undefined;
  }
}
