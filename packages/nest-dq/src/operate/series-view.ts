import type { JobView } from '../api/job.js';
import type { ClusterProducer } from '../producer/cluster-producer.js';
import { SERIES_KEY, type Series } from '../recurring/series.js';

/** A `@Recurring` of this process, and its one job. */
export interface SeriesView {
  /** Name of the tube without the prefix. */
  readonly tube: string;
  /** Key of its job. */
  readonly key: string;
  /** The cron expression with its time zone, or the name of the calendar, according to this process. */
  readonly plan: string;
  /** State of its job. `none` if there is none, because no process of the series has started, or its plan has no occurrence left. */
  readonly state: JobView['state'] | 'none';
  /** When it runs next: by its job if that waits, by its plan if that runs. Absent if nothing is scheduled. */
  readonly next?: Date;
}

/** Rejects with `DQ_LEDGER_DOWN`. */
export async function viewOfSeries(series: Series, producer: ClusterProducer): Promise<SeriesView> {
  const { tube, plan } = series;
  const job = await producer.find({ tube, key: SERIES_KEY }, { patience: 0 });
  const next = nextOf(series, job, await producer.ledgerTime(tube));
  return { tube, key: SERIES_KEY, plan, state: job?.state ?? 'none', ...(next && { next }) };
}

function nextOf(series: Series, job: JobView | undefined, now: number): Date | undefined {
  if (job?.state === 'waiting' || job?.state === 'retrying') return job.dueAt;
  if (job?.state !== 'running') return undefined;
  const next = series.after(now);
  return next === undefined ? undefined : new Date(next);
}
