import type { RescheduleResult } from '../api/job.js';
import type { ActTarget } from '../events/events.js';
import type { EventHub } from '../events/event-hub.js';
import type { Presence } from '../fleet/presence.js';
import { REMOVED, type SeriesPlans, type StoredSeries } from '../fleet/series-plans.js';
import { checkBetween, checkObject } from '../producer/call-options.js';
import type { ClusterProducer } from '../producer/cluster-producer.js';
import { formatCursor, parseCursor } from '../producer/cursor.js';
import { seriesKey, type SeriesKeeper } from '../recurring/series-keeper.js';
import {
  checkSeriesName,
  checkSeriesPlan,
  readEntry,
  type SeriesEntry,
  type SeriesPlan,
} from '../recurring/series-plan.js';
import { Act, actOnJob, type ActOptions } from './act.js';
import { plannedView, type PlannedSeries, type SeriesView } from './series-view.js';

/** Which series `DqSeries.list` returns. */
export interface SeriesListOptions {
  /** Only series whose names begin with it. @default all */
  prefix?: string;
  /** Max number of series: 1 to 1,000. @default 100 */
  limit?: number;
  /** Continues after the page that returned it. @default from the first name on */
  cursor?: string;
}

/** A page of series, by name. */
export interface SeriesPage {
  /** In the order of their names. */
  readonly series: PlannedSeries[];
  /** Number of all series made at run time, whatever the prefix. */
  readonly total: number;
  /** Absent on the last page. */
  readonly cursor?: string;
}

/** Result of `DqSeries.upsert`. */
export interface SeriesUpsert {
  /** `unchanged` if the series had this plan and payload: then nothing was done. */
  readonly status: 'created' | 'changed' | 'unchanged';
}

/** Result of `DqSeries.skipNext`. */
export interface SkippedOccurrence {
  /** The occurrence that won't run. */
  readonly skipped: Date;
  /** When it runs next. Absent if the series has ended. */
  readonly next?: Date;
}

/**
 * Recurring jobs made at run time: plans from a configuration or a database, such as one for each customer. They're stored in
 * Redis, and any process keeps them going. An occurrence is a job of the plan's tube, so its handler is an ordinary
 * `@DelayedHandler`. Inject it.
 */
export abstract class DqSeries {
  /**
   * Creates a series, or gives it another plan: then its waiting occurrence moves. The same plan and payload again changes
   * nothing, so a process may call it for all of its series at each start. Of concurrent calls, one plan remains. Rejects with
   * `DQ_BAD_OPTION`, `DQ_BAD_TUBE`, `DQ_BAD_DURATION`, `DQ_BAD_TIME` or `DQ_BAD_PAYLOAD` before anything is stored;
   * `DQ_CONFIG` if croner is missing; `DQ_LEDGER_DOWN`, `DQ_TOO_FEW_COPIES`, `DQ_CONFLICT`, `DQ_CLOSED`: the plan may have been
   * stored, and then takes effect within a minute.
   * @param name Identifies the series: 1 to 200 characters.
   */
  abstract upsert<In = unknown>(name: string, plan: SeriesPlan<In>): Promise<SeriesUpsert>;

  /** Resolves with series by name, page by page. Rejects with `DQ_BAD_OPTION`, `DQ_LEDGER_DOWN`, `DQ_CLOSED`. */
  abstract list(options?: SeriesListOptions): Promise<SeriesPage>;

  /** Resolves with a series; undefined if there is none. Rejects as `list` does. */
  abstract find(name: string): Promise<PlannedSeries | undefined>;

  /**
   * Removes a series, and revokes its waiting occurrence; an occurrence that's running is its last. Resolves with false if there
   * is no such series. Rejects with `DQ_BAD_OPTION`, `DQ_LEDGER_DOWN`, `DQ_CLOSED`: if it was removed, its occurrence doesn't run
   * even then.
   */
  abstract remove(name: string, options?: ActOptions): Promise<boolean>;

  /**
   * Moves the waiting occurrence to the one after it. Resolves with undefined if none waits, or there is no such series. Rejects
   * with `DQ_BAD_OPTION`, `DQ_LEDGER_DOWN`, `DQ_TOO_FEW_COPIES`, `DQ_NO_COPY`, `DQ_CONFLICT`, `DQ_CLOSED`.
   */
  abstract skipNext(name: string, options?: ActOptions): Promise<SkippedOccurrence | undefined>;

  /**
   * Runs the waiting occurrence now; the series then follows its plan, so an occurrence that is still to come isn't lost. Resolves
   * and rejects as `DqControl.runNow` does; with `unknown` if there is no such series.
   */
  abstract trigger(name: string, options?: ActOptions): Promise<RescheduleResult>;
}

interface SeriesParts {
  readonly plans: SeriesPlans;
  readonly keeper: SeriesKeeper;
  readonly producer: ClusterProducer;
  readonly presence: Pick<Presence, 'all'>;
  readonly events: EventHub;
  readonly settings: { readonly prefix: string };
}

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;

/** The series of one cluster made at run time. */
export class ClusterSeries extends DqSeries {
  constructor(private readonly parts: SeriesParts) {
    super();
  }

  override async upsert<In = unknown>(name: string, plan: SeriesPlan<In>): Promise<SeriesUpsert> {
    const { plans, keeper, producer, settings } = this.parts;
    checkSeriesName(name);
    const { startAt, tube, ...texts } = await checkSeriesPlan(plan as SeriesPlan<any>, settings.prefix);
    await producer.checkForSeries(plan.tube, plan.payload);
    keeper.use();
    const { status, entry, before } = await plans.upsert(name, texts, startAt);
    if (status === 'unchanged') return { status };
    const tubeBefore = before === undefined ? undefined : readEntry(before)?.spec.tube;
    if (tubeBefore !== undefined && tubeBefore !== tube) {
      await producer.revoke({ tube: tubeBefore, key: seriesKey(name) });
    }
    const begunAt = readEntry(entry)?.begunAt ?? 0;
    await keeper.ensure(name, entry, { after: begunAt - 1, isNew: before === undefined });
    return { status };
  }

  override async list(options?: SeriesListOptions): Promise<SeriesPage> {
    const {
      prefix = '',
      limit = DEFAULT_LIMIT,
      cursor,
    } = checkObject('the list options', options, ['prefix', 'limit', 'cursor']);
    if (prefix !== '') checkSeriesName(prefix);
    checkBetween('limit', limit, 1, MAX_LIMIT);
    const [after] = cursor === undefined ? [] : parseCursor(cursor, 'a page of series', ['string']);
    const { plans } = this.parts;
    const { total, series } = await plans.page({ limit: limit + 1, prefix, after });
    const last = series.length > limit ? series[limit - 1] : undefined;
    const views = await this.views(series.slice(0, limit));
    return { series: views, total, ...(last && { cursor: formatCursor(last.name) }) };
  }

  override async find(name: string): Promise<PlannedSeries | undefined> {
    const stored = await this.parts.plans.get(checkSeriesName(name));
    return stored && (await this.views([stored]))[0];
  }

  override async remove(name: string, options?: ActOptions): Promise<boolean> {
    const { by } = checkObject('the options', options, ['by']);
    const { plans, keeper, events } = this.parts;
    checkSeriesName(name);
    const known = readEntry((await plans.get(name))?.entry ?? '');
    const act = new Act(events, 'removeSeries', targetOf(name, known), by);
    const before = await plans.remove(name);
    const entry = before === undefined ? undefined : readEntry(before);
    if (before !== undefined) await keeper.ensure(name, REMOVED + before.slice(before.indexOf(' ')));
    act.ended(entry ? 1 : 0);
    return before !== undefined;
  }

  override async skipNext(name: string, options?: ActOptions): Promise<SkippedOccurrence | undefined> {
    const { by } = checkObject('the options', options, ['by']);
    const { keeper, producer, events } = this.parts;
    const entry = await this.present(name);
    const act = new Act(events, 'skipSeries', targetOf(name, entry), by);
    const skip = async (): Promise<SkippedOccurrence | undefined> => {
      const ref = entry && { tube: entry.spec.tube, key: seriesKey(name) };
      const job = ref && (await producer.find(ref));
      if (!ref || job?.state !== 'waiting') return undefined;
      const next = (await keeper.seriesOf(name, entry)).after(job.dueAt.getTime());
      if (next === undefined) {
        return (await producer.revoke(ref)) === 'revoked' ? { skipped: job.dueAt } : undefined;
      }
      const moved = await producer.reschedule(ref, new Date(next), { allowPast: true });
      return moved === 'rescheduled' ? { skipped: job.dueAt, next: new Date(next) } : undefined;
    };
    const skipped = await skip();
    act.ended(skipped ? 1 : 0);
    return skipped;
  }

  override async trigger(name: string, options?: ActOptions): Promise<RescheduleResult> {
    const { by } = checkObject('the options', options, ['by']);
    const entry = await this.present(name);
    if (!entry) return 'unknown';
    const ref = { tube: entry.spec.tube, key: seriesKey(name) };
    return actOnJob(this.parts, 'runNow', ref, by, 'rescheduled', () =>
      this.parts.producer.reschedule(ref, { delay: 0 }),
    );
  }

  /** Resolves with the missed series, at most `limit`. Rejects with `DQ_LEDGER_DOWN`. */
  async missed(limit: number): Promise<SeriesView[]> {
    const views = await this.views(await this.parts.plans.missed(limit), 0);
    return views
      .filter(({ missedSince }) => missedSince !== undefined)
      .map(({ payload: _payload, ...view }) => view);
  }

  /** Resolves with the entry of a series that wasn't removed. */
  private async present(name: string): Promise<SeriesEntry | undefined> {
    const stored = await this.parts.plans.get(checkSeriesName(name));
    const entry = stored && readEntry(stored.entry);
    return entry?.begunAt === undefined ? undefined : entry;
  }

  /** Leaves out removed series, and what another program wrote. */
  private async views(stored: readonly StoredSeries[], times?: number): Promise<PlannedSeries[]> {
    if (stored.length === 0) return [];
    const { keeper, producer, presence } = this.parts;
    const present = await presence.all();
    const consumers = new Map<string, number>();
    for (const { tube } of present.flatMap(({ record }) => record.tubes)) {
      consumers.set(tube, (consumers.get(tube) ?? 0) + 1);
    }
    const views = stored.map(async ({ name, entry: text, run }) => {
      const entry = readEntry(text);
      if (entry?.begunAt === undefined) return undefined;
      const series = await keeper.seriesOf(name, entry);
      const processes = consumers.get(entry.spec.tube) ?? 0;
      return plannedView({ name, entry, series, run, processes, times }, producer);
    });
    return (await Promise.all(views)).filter((view) => view !== undefined);
  }
}

function targetOf(name: string, entry: SeriesEntry | undefined): ActTarget {
  return { ...(entry && { tube: entry.spec.tube }), key: seriesKey(name) };
}
