import { Heap, type HeapItem } from 'nest-dq/src/heap.js';
import type { Clock, Timer } from 'nest-dq/src/time.js';

class Waiting implements HeapItem {
  heapIndex = -1;

  constructor(
    readonly at: number,
    readonly order: number,
    readonly callback: () => void,
  ) {}
}

/** Milliseconds. A shorter wait could be lost in the rounding, and never end. */
const SHORTEST = 0.001;
/** Of the event loop. What takes more in an instant never ends. */
const MOST_TURNS = 10_000;

/**
 * The time of a simulated world: it stands still until it is moved, and stops at each timer until all that follows from
 * it has happened. That is known, and not waited for: whatever the library does goes on in ticks, microtasks and `soon`.
 */
export class WorldClock implements Clock {
  private elapsed = 0;
  private made = 0;
  private underWay = 0;
  private readonly timers = new Heap<Waiting>((a, b) => a.at < b.at || (a.at === b.at && a.order < b.order));

  constructor(private readonly start = Date.UTC(2030, 0, 1)) {}

  wall(): number {
    return this.start + this.elapsed;
  }

  now(): number {
    return this.elapsed;
  }

  after(delay: number, callback: () => void): Timer {
    const at = this.elapsed + (delay > 0 ? Math.max(SHORTEST, delay) : 0);
    const timer = new Waiting(at, this.made++, callback);
    this.timers.add(timer);
    return { cancel: () => this.timers.remove(timer) };
  }

  next(callback: () => void): void {
    process.nextTick(callback);
  }

  soon(callback: () => void): void {
    this.underWay++;
    setImmediate(() => {
      this.underWay--;
      callback();
    });
  }

  async advance(by: number): Promise<void> {
    const end = this.elapsed + by;
    await this.settle();
    for (let next = this.timers.peek(); next && next.at <= end; next = this.timers.peek()) {
      this.timers.remove(next);
      this.elapsed = Math.max(this.elapsed, next.at);
      next.callback();
      await this.settle();
    }
    this.elapsed = end;
  }

  private async settle(): Promise<void> {
    for (let turn = 0; turn < MOST_TURNS; turn++) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      if (this.underWay === 0) return;
    }
    throw new Error(`spin: something goes on for ever at ${this.elapsed} ms, without any time passing`);
  }
}
