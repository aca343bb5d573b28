import type { Clock } from 'nest-handlers/time';

/** Time per round for all that start in it, together: long enough for a common batch. */
const TO_BEGIN_MS = 5;
/** Time per round for the one that continues. */
const TO_CONTINUE_MS = 2;

/** Someone who works in turns with others. */
interface Worker {
  /** Continues the interrupted work. */
  resume(): void;
}

/**
 * Shares the time between workers, so that nobody waits for more than a few milliseconds, however many have endless work. A
 * worker with little to do does it at once. One with more to do asks periodically whether it may continue. If it may not, it
 * queues after other interrupted ones, and in each round of the event loop one of them continues.
 */
export class TimeShares {
  /** Number of rounds in which somebody asked. */
  round = 0;
  private isRoundOpen = false;
  private readonly interrupted = new Set<Worker>();
  /** The previously interrupted worker that works now. */
  private served: Worker | undefined;
  private servedUntil = 0;
  /** Until when all others may work, once one of them has asked. */
  private othersUntil: number | undefined;

  constructor(private readonly clock: Clock) {}

  /** Returns false if its `openIfReady` is called later. */
  mayGoOn(worker: Worker): boolean {
    this.openRound();
    const now = this.clock.now();
    const until = worker === this.served ? this.servedUntil : (this.othersUntil ??= now + TO_BEGIN_MS);
    if (now < until) return true;
    this.interrupted.add(worker);
    return false;
  }

  /** The worker has no more work. */
  leave(worker: Worker): void {
    this.interrupted.delete(worker);
  }

  /** A round ends when all pending input has been read. Where nobody asks, rounds aren't counted, and cost nothing. */
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
    this.servedUntil = this.clock.now() + TO_CONTINUE_MS;
    next.resume();
  }
}
