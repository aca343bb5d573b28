import type { Clock, Timer } from 'nest-handlers/time';
import type { RedisView } from '../ledger/ledger-view.js';
import type { SeriesView } from '../operate/series-view.js';
import type { TubeList, TubeView } from '../operate/tube-view.js';

/** Pause between two looks. */
const INTERVAL_MS = 15_000;
/** How often a process that isn't the leader checks whether it is. */
const ELECTED_EVERY_MS = 1_000;

interface TubeWatchParts {
  readonly clock: Clock;
  /** Whether this process is the leader, which looks for all. */
  readonly elected: () => boolean;
  /** Asks the servers. Never rejects. */
  readonly look: () => Promise<Look>;
}

/** Result of one look. */
interface Look extends Pick<TubeList, 'tubes'> {
  readonly redis: readonly RedisView[];
  /** Absent if the ledger didn't answer. */
  readonly series?: readonly SeriesView[] | undefined;
}

/** Looks at the tubes and Redis periodically, so that frequent readers, such as a metrics scraper, cost the servers nothing. */
export class TubeWatch {
  private seen: Look | undefined;
  private timer: Timer | undefined;
  private state: 'new' | 'watching' | 'closed' = 'new';

  constructor(private readonly parts: TubeWatchParts) {}

  /**
   * The tubes, as of at most about 15 s ago. Undefined if this process isn't the leader, or hasn't looked yet. The first call
   * starts the watch.
   */
  tubes(): readonly TubeView[] | undefined {
    return this.last()?.tubes;
  }

  /** The servers, as `tubes`. */
  redis(): readonly RedisView[] | undefined {
    return this.last()?.redis;
  }

  /** The series, as `tubes`. While the ledger is away, as they were before. */
  series(): readonly SeriesView[] | undefined {
    return this.last()?.series;
  }

  /** Idempotent. */
  close(): void {
    this.state = 'closed';
    this.timer?.cancel();
  }

  private last(): Look | undefined {
    if (this.state === 'new') {
      this.state = 'watching';
      void this.look();
    }
    return this.parts.elected() ? this.seen : undefined;
  }

  private async look(): Promise<void> {
    const { clock, elected, look } = this.parts;
    const looks = elected();
    const before = this.seen?.series;
    const seen = looks ? await look() : undefined;
    this.seen = seen && { ...seen, series: seen.series ?? before };
    if (this.state !== 'watching') return;
    this.timer = clock.after(looks ? INTERVAL_MS : ELECTED_EVERY_MS, () => void this.look());
  }
}
