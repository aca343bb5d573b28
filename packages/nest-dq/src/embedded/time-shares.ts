import type { Clock } from 'nest-handlers/time';

/** Milliseconds of each round for all who begin in it, together: long enough for a common batch. */
const TO_BEGIN = 5;
/** Milliseconds of each round for the one that goes on. */
const TO_GO_ON = 2;

/** Who works in turns with others. */
interface Worker {
  /** Goes on with the work that was interrupted. */
  goOn(): void;
}

/**
 * Shares the time between workers, so that nobody waits for more than a few milliseconds, however many have endless work.
 * A worker with little to do does it at once. One with more to do asks now and then whether it may go on. If it may not, it
 * queues behind the others that were interrupted, and in each round of the event loop one of them goes on.
 */
export class TimeShares {
  /** Counts the rounds in which somebody asked. */
  round = 0;
  private isRoundOpen = false;
  private readonly interrupted = new Set<Worker>();
  /** The one that was interrupted before, and works now. */
  private served: Worker | undefined;
  private servedUntil = 0;
  /** Until when all others may work, once one of them has asked. */
  private othersUntil: number | undefined;

  constructor(private readonly clock: Clock) {}

  /** False: its `goOn` is called later. */
  mayGoOn(worker: Worker): boolean {
    this.openRound();
    const now = this.clock.now();
    const until = worker === this.served ? this.servedUntil : (this.othersUntil ??= now + TO_BEGIN);
    if (now < until) return true;
    this.interrupted.add(worker);
    return false;
  }

  /** It has no work any more. */
  leave(worker: Worker): void {
    this.interrupted.delete(worker);
  }

  /** A round ends when all input that waits was read. Where nobody asks, rounds are not counted, and cost nothing. */
  private openRound(): void {
    if (this.isRoundOpen) return;
    this.isRoundOpen = true;
    this.clock.soon(() => this.nextRound());
  }

  private nextRound(): void {
    this.round++;
    this.isRoundOpen = false;
    this.othersUntil = undefined;
    const [next] = this.interrupted;
    this.served = next;
    if (next === undefined) return;
    this.interrupted.delete(next);
    this.openRound();
    this.servedUntil = this.clock.now() + TO_GO_ON;
    next.goOn();
  }
}
