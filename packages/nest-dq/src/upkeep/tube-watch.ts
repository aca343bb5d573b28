import type { Clock, Timer } from 'nest-handlers/time';
import type { TubeList, TubeView } from '../operate/tube-view.js';

/** Milliseconds from one look to the next. */
const EVERY = 15_000;
/** Milliseconds after which a process that is not elected asks itself again whether it is. */
const ELECTED_EVERY = 1_000;

interface TubeWatchParts {
  readonly clock: Clock;
  /** Whether this process is the one that looks for all. */
  readonly elected: () => boolean;
  /** Asks the servers. Never rejects. */
  readonly look: () => Promise<TubeList>;
}

/** Looks at the tubes now and then, so that whoever asks often, such as a reader of metrics, costs the servers nothing. */
export class TubeWatch {
  private seen: readonly TubeView[] | undefined;
  private timer: Timer | undefined;
  private state: 'new' | 'watching' | 'closed' = 'new';

  constructor(private readonly parts: TubeWatchParts) {}

  /**
   * The tubes, as they were at most about 15 s ago. Undefined if this process is not elected, or has not looked yet. The first
   * call begins the watch.
   */
  tubes(): readonly TubeView[] | undefined {
    if (this.state === 'new') {
      this.state = 'watching';
      void this.look();
    }
    return this.parts.elected() ? this.seen : undefined;
  }

  /** Idempotent. */
  close(): void {
    this.state = 'closed';
    this.timer?.cancel();
  }

  private async look(): Promise<void> {
    const { clock, elected, look } = this.parts;
    const looks = elected();
    this.seen = looks ? (await look()).tubes : undefined;
    if (this.state !== 'watching') return;
    this.timer = clock.after(looks ? EVERY : ELECTED_EVERY, () => void this.look());
  }
}
