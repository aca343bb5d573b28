import { detached } from '../context.js';

/**
 * The only source of time in this library. Specs give a virtual one. Callbacks are detached: many callers may wait for one,
 * and none of them is the one whose AsyncLocalStorage it should see.
 */
export interface Clock {
  /** Milliseconds since 1970 by the machine's clock, which may jump. */
  wall(): number;
  /** Milliseconds that only grow, from an arbitrary start; with fractions. */
  now(): number;
  /** Calls back once, not before `delay` milliseconds are over; any delay is fine (setTimeout alone wraps at 24.8 days). */
  after(delay: number, callback: () => void): Timer;
  /** Calls back once the code that runs now, and what it has made ready, is done; before any input: process.nextTick. */
  next(callback: () => void): void;
  /** Calls back once all input that is waiting now was read: setImmediate. */
  soon(callback: () => void): void;
}

/** A callback that has not been called. */
export interface Timer {
  /** Idempotent. */
  cancel(): void;
}

const LONGEST_TIMEOUT = 2 ** 31 - 1;

class SystemTimer implements Timer {
  private readonly end: number;
  private handle: NodeJS.Timeout;

  constructor(
    delay: number,
    private readonly callback: () => void,
  ) {
    this.end = performance.now() + delay;
    this.handle = this.arm(delay);
  }

  cancel(): void {
    clearTimeout(this.handle);
  }

  /** setTimeout counts whole milliseconds of a clock of its own, and so may wake almost one too soon. */
  private arm(delay: number): NodeJS.Timeout {
    const fire = (): void => {
      const left = this.end - performance.now();
      if (left > 0) this.handle = this.arm(left);
      else this.callback();
    };
    return detached(() => setTimeout(fire, Math.min(Math.ceil(delay), LONGEST_TIMEOUT)));
  }
}

/** The machine's time. */
export const systemClock: Clock = {
  wall: () => Date.now(),
  now: () => performance.now(),
  after: (delay, callback) => new SystemTimer(Math.max(0, delay), callback),
  next: (callback) => detached(() => process.nextTick(callback)),
  soon: (callback) => void detached(() => setImmediate(callback)),
};
