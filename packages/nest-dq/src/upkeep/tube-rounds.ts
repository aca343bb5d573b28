import type { Clock, Timer } from 'nest-handlers/time';

/** Tubes that are looked at together, as their calls then wake the process once, and the milliseconds until the next ones are. */
const TOGETHER = 10;
const APART = 1_000;

export interface RoundTimes {
  /** Milliseconds from the start to the first round. */
  readonly firstAfter: number;
  /** Milliseconds from one round to the next. */
  readonly every: number;
}

/**
 * Looks at the tubes that a process consumes, again and again: at ten a second at most, so that what it takes of the ledger,
 * and of the process, does not grow with the number of its tubes. With more of them a round takes longer.
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

  /** Idempotent, and nothing after `close`. */
  start(): void {
    if (!this.closed && !this.timer) this.roundAfter(this.times.firstAfter);
  }

  /** Looks at no other tube. Resolves when the looks that go on are over. Idempotent; also before `start`. */
  async close(): Promise<void> {
    this.closed = true;
    this.timer?.cancel();
    await this.underWay;
  }

  private roundAfter(ms: number): void {
    this.timer = this.clock.after(ms, () => this.go(Array.from(this.tubes())));
  }

  private go(tubes: readonly string[], from = 0): void {
    const to = from + TOGETHER;
    this.underWay = Promise.all(tubes.slice(from, to).map(this.look)).then(() => {
      if (this.closed) return;
      if (to >= tubes.length) this.roundAfter(this.times.every);
      else this.timer = this.clock.after(APART, () => this.go(tubes, to));
    });
  }
}
