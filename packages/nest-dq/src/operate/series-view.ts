import type { JobView } from '../api/job.js';
import type { Presence } from '../fleet/presence.js';
import { DqError } from '../errors.js';
import type { ClusterProducer } from '../producer/cluster-producer.js';
import { occurrencesOfPlan } from '../recurring/occurrences.js';
import type { SeriesScheduler } from '../recurring/series-scheduler.js';
import { SERIES_KEY, type Series } from '../recurring/series.js';

/** A `@Recurring` of any process, and its one job. */
export interface SeriesView {
  /** Name of the tube without the prefix. */
  readonly tube: string;
  /** Key of its job. */
  readonly key: string;
  /** The cron expression with its time zone, or the name of the calendar. */
  readonly plan: string;
  /** True if processes have different plans, as during a deployment. `plan` is then this process's, or that of one of them. */
  readonly unequal?: true;
  /** Number of processes that have it, as announced within the last 15 s. */
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
}

interface SeriesSources {
  readonly series: SeriesScheduler;
  readonly presence: Pick<Presence, 'all'>;
  readonly producer: ClusterProducer;
}

/** A series of this process, or one that another announces. `after` is absent if only that one knows its occurrences. */
export type KnownSeries = Pick<Series, 'tube' | 'plan'> & Partial<Pick<Series, 'after'>>;

const MAX_SERIES = 1_000;
const MAX_LATER = 4;

/** Resolves with the series of this process, and then those of others. Rejects with `DQ_LEDGER_DOWN`. */
export async function viewsOfSeries({ series, presence, producer }: SeriesSources): Promise<SeriesView[]> {
  const plans = new Map<string, string[]>(series.all().map(({ tube }) => [tube, []]));
  for (const { tube, plan } of (await presence.all()).flatMap(({ record }) => record.tubes)) {
    if (plan === undefined) continue;
    const others = plans.get(tube);
    if (others) others.push(plan);
    else plans.set(tube, [plan]);
  }
  const own = new Map(series.all().map((each) => [each.tube, each]));
  const views = Array.from(plans)
    .slice(0, MAX_SERIES)
    .map(async ([tube, announced]) => {
      const known = own.get(tube) ?? {
        tube,
        plan: announced[0]!,
        ...(await occurrencesOfPlan(announced[0]!)),
      };
      const isUnequal = announced.some((plan) => plan !== known.plan);
      const view = await viewOfSeries(known, producer);
      return { ...view, processes: announced.length, ...(isUnequal && { unequal: true as const }) };
    });
  return Promise.all(views);
}

/** Rejects with `DQ_LEDGER_DOWN`. */
export async function viewOfSeries(
  series: KnownSeries,
  producer: ClusterProducer,
): Promise<Omit<SeriesView, 'processes' | 'unequal'>> {
  const { tube, plan } = series;
  const job = await producer.find({ tube, key: SERIES_KEY }, { patience: 0 });
  const next = nextOf(series, job, await producer.ledgerTime(tube));
  return {
    tube,
    key: SERIES_KEY,
    plan,
    state: job?.state ?? 'none',
    ...(next !== undefined && { next: new Date(next) }),
    later: next === undefined ? [] : laterThan(next, series),
  };
}

function nextOf(series: KnownSeries, job: JobView | undefined, now: number): number | undefined {
  if (job?.state === 'waiting' || job?.state === 'retrying') return job.dueAt.getTime();
  return job?.state === 'running' ? series.after?.(now) : undefined;
}

/** Stops where a calendar fails: the process that schedules by it reports that. */
function laterThan(next: number, series: KnownSeries): Date[] {
  const times: Date[] = [];
  try {
    for (let at = series.after?.(next); at !== undefined && times.length < MAX_LATER; at = series.after!(at))
      times.push(new Date(at));
  } catch (thrown) {
    if (!(thrown instanceof DqError)) throw thrown;
  }
  return times;
}
