import { VirtualClock } from 'nest-dq/src/test-kit/virtual-clock.js';
import type { Timer } from 'nest-dq/src/time/clock.js';

/** Milliseconds. A shorter wait could be lost in the rounding, and never end. */
const SHORTEST = 0.001;
/** Of the event loop. What takes more in an instant never ends. */
const MOST_TURNS = 10_000;

/**
 * The time of a simulated world: it stands still until it is moved, and stops at each timer until all that follows from
 * it has happened. That is known, and not waited for: whatever the library does goes on in ticks, microtasks and `soon`.
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
    throw new Error(`spin: something goes on for ever at ${this.now()} ms, without any time passing`);
  }
}
