import type { Clock, Timer } from 'nest-handlers/time';

/** Tubes visited together, since their calls then wake the process once. */
const TUBES_AT_ONCE = 10;
/** Pause before the next ones. */
const PAUSE_MS = 1_000;

export interface RoundTimes {
  /** Time from the start to the first round, in ms. */
  readonly firstAfter: number;
  /** Pause between two rounds, in ms. */
  readonly every: number;
}

/**
 * Visits the tubes that a process consumes over and over, at most ten a second, so that the load on the ledger and the process
 * doesn't grow with the number of tubes. With more of them a round takes longer.
 */
export class TubeRounds {
  closed = false;
  private timer: Timer | undefined;
  private underWay: Promise<void> | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly times: RoundTimes,
    private readonly tubes: () => Iterable<string>,
    /** Never rejects. */
    private readonly look: (tube: string) => Promise<void>,
  ) {}

  /** Idempotent; does nothing after `close`. */
  start(): void {
    if (!this.closed && !this.timer) this.roundAfter(this.times.firstAfter);
  }

  /** Starts no further visit. Resolves when the current ones are over. Idempotent, also before `start`. */
  async close(): Promise<void> {
    this.closed = true;
    this.timer?.cancel();
    await this.underWay;
  }

  private roundAfter(ms: number): void {
    this.timer = this.clock.after(ms, () => this.go(Array.from(this.tubes())));
  }

  private go(tubes: readonly string[], from = 0): void {
    const to = from + TUBES_AT_ONCE;
    this.underWay = Promise.all(tubes.slice(from, to).map(this.look)).then(() => {
      if (this.closed) return;
      if (to >= tubes.length) this.roundAfter(this.times.every);
      else this.timer = this.clock.after(PAUSE_MS, () => this.go(tubes, to));
    });
  }
}
