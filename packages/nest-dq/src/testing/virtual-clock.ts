import type { Clock, Timer } from '../time.js';

interface Waiting {
  at: number;
  order: number;
  callback: () => void;
}

/** A clock that stands still until a spec moves it. Timers run in the order of their time, then of their making. */
export class VirtualClock implements Clock {
  private elapsed = 0;
  private made = 0;
  private readonly waiting = new Set<Waiting>();

  constructor(private readonly start = Date.UTC(2030, 0, 1)) {}

  wall(): number {
    return this.start + this.elapsed;
  }

  now(): number {
    return this.elapsed;
  }

  after(delay: number, callback: () => void): Timer {
    const timer: Waiting = { at: this.elapsed + Math.max(0, delay), order: this.made++, callback };
    this.waiting.add(timer);
    return { cancel: () => void this.waiting.delete(timer) };
  }

  /** Real: what is read next is not a matter of time. */
  soon(callback: () => void): void {
    setImmediate(callback);
  }

  /** Time passes in which nothing runs, as in a blocked event loop: what came due is late. */
  stall(by: number): void {
    this.elapsed += by;
  }

  /** Moves the time, stopping at each timer on the way and letting everything that follows from it happen. */
  async advance(by: number): Promise<void> {
    const end = this.elapsed + by;
    await settled();
    for (let next = this.first(end); next; next = this.first(end)) {
      this.waiting.delete(next);
      this.elapsed = Math.max(this.elapsed, next.at);
      next.callback();
      await settled();
    }
    this.elapsed = Math.max(this.elapsed, end);
    await settled();
  }

  private first(end: number): Waiting | undefined {
    let first: Waiting | undefined;
    for (const timer of this.waiting) {
      if (timer.at > end) continue;
      if (!first || timer.at < first.at || (timer.at === first.at && timer.order < first.order))
        first = timer;
    }
    return first;
  }
}

/** All promises, and all immediates that follow from each other within this many turns, are done. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}
