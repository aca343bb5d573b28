import { VirtualClock } from 'nest-handlers/testing';
import type { Timer } from 'nest-handlers/time';

/** Milliseconds. A shorter wait could be lost in the rounding, and never end. */
const SHORTEST = 0.001;
/** Turns of the event loop. If one instant takes more, something loops for ever. */
const MOST_TURNS = 10_000;

/**
 * The time of a simulated world. It moves only by `advance`, and stops at each timer until everything that follows from it
 * has happened. This needs no real waiting, because the library continues only in ticks, microtasks and `soon`.
 */
export class WorldClock extends VirtualClock {
  override after(delay: number, callback: () => void): Timer {
    return super.after(delay > 0 ? Math.max(SHORTEST, delay) : 0, callback);
  }

  override next(callback: () => void): void {
    process.nextTick(callback);
  }

  protected override async settle(): Promise<void> {
    for (let turn = 0; turn < MOST_TURNS; turn++) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      if (this.underWay === 0) return;
    }
    throw new Error(`spin: something loops for ever at ${this.now()} ms, while the time stands still`);
  }
}
