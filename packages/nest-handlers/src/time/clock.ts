import { detached } from '../context.js';

/**
 * The only source of time in this library; specs use a virtual one. Callbacks are detached: many callers may wait for one, and
 * it should see the AsyncLocalStorage of none of them.
 */
export interface Clock {
  /** Returns ms since 1970 by the system clock, which may jump. */
  wall(): number;
  /** Returns monotonic ms from an arbitrary start, with fractions. */
  now(): number;
  /** Calls back once, at least `delay` ms from now; any delay is fine (setTimeout alone wraps at 24.8 days). */
  after(delay: number, callback: () => void): Timer;
  /** Calls back once the running code, and everything it made ready, is done; before any input: process.nextTick. */
  next(callback: () => void): void;
  /** Calls back once all pending input has been read: setImmediate. */
  soon(callback: () => void): void;
}

/** A pending callback. */
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

  /** setTimeout counts whole ms of its own clock, and so may fire almost 1 ms early. */
  private arm(delay: number): NodeJS.Timeout {
    const fire = (): void => {
      const left = this.end - performance.now();
      if (left > 0) this.handle = this.arm(left);
      else this.callback();
    };
    return detached(() => setTimeout(fire, Math.min(Math.ceil(delay), LONGEST_TIMEOUT)));
  }
}

/** The system clock. */
export const systemClock: Clock = {
  wall: () => Date.now(),
  now: () => performance.now(),
  after: (delay, callback) => new SystemTimer(Math.max(0, delay), callback),
  next: (callback) => detached(() => process.nextTick(callback)),
  soon: (callback) => void detached(() => setImmediate(callback)),
};
