import { isOutcome } from '../consumer/run/outcome.js';
import { toError } from '../errors.js';
import type { DqEvents } from '../events/events.js';
import type { Clock, Timer } from 'nest-handlers/time';
import { SERIES_KEY, type Series } from './series.js';

/** In ms. Max delay of a series if the process that ran its occurrence has died. */
const EVERY = 60_000;

interface SeriesSchedulerParts {
  readonly events: DqEvents;
  readonly clock: Clock;
  readonly trouble: (message: string) => void;
}

/**
 * Ensures that each `@Recurring` series of one cluster has a job: at bootstrap, when a series' job ended here, and every minute.
 */
export class SeriesScheduler {
  private readonly series = new Map<string, Series>();
  /** Series that could not be scheduled the last time. */
  private readonly troubled = new Set<Series>();
  private readonly underWay = new Set<Promise<void>>();
  private timer: Timer | undefined;
  private stopped = false;

  constructor(private readonly parts: SeriesSchedulerParts) {}

  /** Adds a series; a tube has one. A series added after a start is scheduled by the next start. */
  add(series: Series): void {
    this.series.set(series.tube, series);
  }

  /** Returns all series of this process, in the order they were added. */
  all(): Series[] {
    return [...this.series.values()];
  }

  /** Returns the plan of a tube's series; undefined if the tube has none. */
  planOf(tube: string): string | undefined {
    return this.series.get(tube)?.plan;
  }

  /** Returns the series whose occurrence a job is; undefined if it's another job. */
  of({ tube, key }: { readonly tube: string; readonly key?: string | undefined }): Series | undefined {
    return key === SERIES_KEY ? this.series.get(tube) : undefined;
  }

  /** Resolves once each series has been checked. A failure is reported and retried. */
  async start(): Promise<void> {
    if (this.series.size === 0 || this.stopped) return;
    if (this.timer) this.scheduleAll();
    else this.begin();
    await this.calm();
  }

  /** Stops scheduling. Idempotent. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.timer?.cancel();
    await this.calm();
  }

  private begin(): void {
    const { events } = this.parts;
    events.on('dead').subscribe(({ letter }) => this.ended(letter));
    events.on('expired').subscribe((job) => this.ended(job));
    events.on('completed').subscribe(({ job, result }) => {
      if (!isOutcome(result)) this.ended(job);
    });
    this.round();
  }

  private round(): void {
    this.scheduleAll();
    this.timer = this.parts.clock.after(EVERY, () => this.round());
  }

  private scheduleAll(): void {
    for (const series of this.series.values()) this.schedule(series);
  }

  /** A job ended here; it may be a series' job. */
  private ended(job: { readonly tube: string; readonly key?: string }): void {
    const series = this.of(job);
    if (series) this.schedule(series);
  }

  private schedule(series: Series): void {
    if (this.stopped) return;
    const { trouble } = this.parts;
    const scheduled = series.schedule().then(
      () => void this.troubled.delete(series),
      (thrown: unknown) => {
        if (this.troubled.has(series)) return;
        this.troubled.add(series);
        const { message } = toError(thrown);
        trouble(`the series ${series.tube} could not be scheduled; retrying every minute: ${message}`);
      },
    );
    this.underWay.add(scheduled);
    void scheduled.then(() => this.underWay.delete(scheduled));
  }

  private async calm(): Promise<void> {
    await Promise.all(this.underWay);
  }
}
