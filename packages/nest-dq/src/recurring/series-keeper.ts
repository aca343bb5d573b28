import { isOutcome } from '../consumer/run/outcome.js';
import { toError } from '../errors.js';
import type { DqEvents } from '../events/events.js';
import type { Clock, Timer } from '../time/clock.js';
import { SERIES_KEY, type Series } from './series.js';

/** Milliseconds. How long a series rests at most whose occurrence died with the process that would have gone on. */
const EVERY = 60_000;

export interface SeriesKeeperParts {
  readonly events: DqEvents;
  readonly clock: Clock;
  readonly trouble: (message: string) => void;
}

/** Keeps the series of one cluster going: at bootstrap, when the job of one ended here, and every minute. */
export class SeriesKeeper {
  private readonly series = new Map<string, Series>();
  /** Series that could not be looked after the last time. */
  private readonly troubled = new Set<Series>();
  private readonly underWay = new Set<Promise<void>>();
  private timer: Timer | undefined;
  private stopped = false;

  constructor(private readonly parts: SeriesKeeperParts) {}

  /** A tube has one. Those that are added after a start are looked after by the next. */
  add(series: Series): void {
    this.series.set(series.tube, series);
  }

  /** Resolves when all of them were looked after; what fails is told, and tried again. */
  async start(): Promise<void> {
    if (this.series.size === 0 || this.stopped) return;
    if (this.timer) {
      this.keepAll();
      return this.calm();
    }
    const { events } = this.parts;
    events.on('dead').subscribe(({ letter }) => this.ended(letter));
    events.on('completed').subscribe(({ job, result }) => {
      if (!isOutcome(result)) this.ended(job);
    });
    this.round();
    await this.calm();
  }

  /** Nothing is looked after any more. Idempotent. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.timer?.cancel();
    await this.calm();
  }

  private round(): void {
    this.keepAll();
    this.timer = this.parts.clock.after(EVERY, () => this.round());
  }

  private keepAll(): void {
    for (const series of this.series.values()) this.keep(series);
  }

  /** A job ended here, perhaps that of a series. */
  private ended({ tube, key }: { readonly tube: string; readonly key?: string }): void {
    const series = key === SERIES_KEY ? this.series.get(tube) : undefined;
    if (series) this.keep(series);
  }

  private keep(series: Series): void {
    if (this.stopped) return;
    const { clock, trouble } = this.parts;
    const keeping = series.keep(clock.wall()).then(
      () => void this.troubled.delete(series),
      (thrown: unknown) => {
        if (this.troubled.has(series)) return;
        this.troubled.add(series);
        const { message } = toError(thrown);
        trouble(`the series ${series.tube} cannot be kept going, and is tried every minute: ${message}`);
      },
    );
    this.underWay.add(keeping);
    void keeping.then(() => this.underWay.delete(keeping));
  }

  private async calm(): Promise<void> {
    await Promise.all(this.underWay);
  }
}
