import type { Clock } from '../time/clock.js';

/** Milliseconds of a round of the event loop for all who begin in it, together: long enough for a common batch. */
const TO_BEGIN = 5;
/** Milliseconds of a round for the one who was interrupted before and goes on. */
const TO_GO_ON = 2;

/** Who works in turns with others. */
export interface Worker {
  /** Goes on with the work that was interrupted. */
  goOn(): void;
}

/**
 * Who may work how long, so that any number of sessions with endless work keep nobody waiting for more than a few
 * milliseconds. Who has a little to do does it at once; who has more asks now and then whether it may go on, and where it
 * may not, it comes behind all others that were interrupted. Of these one goes on in each round of the event loop.
 */
export class TimeShares {
  /** Counts the rounds in which somebody asked. */
  round = 0;
  private isRoundOpen = false;
  private readonly interrupted = new Set<Worker>();
  /** Who was interrupted before, and works now. */
  private served: Worker | undefined;
  private servedUntil = 0;
  /** Of all others, once one of them has asked. */
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
