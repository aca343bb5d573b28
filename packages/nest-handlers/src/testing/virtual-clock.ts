import { detached } from '../context.js';
import { Heap, type HeapItem } from '../time/heap.js';
import type { Clock, Timer } from '../time/clock.js';
import { soon, turn } from './real-time.js';

class Waiting implements HeapItem {
  heapIndex = -1;

  constructor(
    readonly at: number,
    readonly order: number,
    readonly callback: () => void,
  ) {}
}

const KEPT = Promise.resolve();

/** A clock that stands still until a test moves it. Timers run in the order of their time, then of their creation. */
export class VirtualClock implements Clock {
  private elapsed = 0;
  private made = 0;
  /** Pending callbacks of `soon`. */
  protected underWay = 0;
  private readonly waiting = new Heap<Waiting>((a, b) => a.at < b.at || (a.at === b.at && a.order < b.order));

  constructor(private readonly start = Date.UTC(2030, 0, 1)) {}

  wall(): number {
    return this.start + this.elapsed;
  }

  now(): number {
    return this.elapsed;
  }

  after(delay: number, callback: () => void): Timer {
    const timer = new Waiting(this.elapsed + Math.max(0, delay), this.made++, callback);
    this.waiting.add(timer);
    return { cancel: () => this.waiting.remove(timer) };
  }

  /** Real, since reading the next input takes no virtual time. */
  soon(callback: () => void): void {
    this.underWay++;
    const run = () => {
      this.underWay--;
      callback();
    };
    detached(() => soon(run));
  }

  /** A promise, since fake timers may replace `process.nextTick`. */
  next(callback: () => void): void {
    detached(() => void KEPT.then(callback));
  }

  /** The time of the first timer in terms of `now`, even if stalled past it; Infinity if there is none. */
  get nextTimer(): number {
    return this.waiting.peek()?.at ?? Infinity;
  }

  /** Lets time pass without firing timers, like a blocked event loop: timers that came due fire late. */
  stall(by: number): void {
    this.elapsed += by;
  }

  /** Runs the first timer, at its time, or now if that is in the past. */
  runTimer(): void {
    const first = this.waiting.peek();
    if (!first) return;
    this.waiting.remove(first);
    this.elapsed = Math.max(this.elapsed, first.at);
    detached(first.callback);
  }

  /** Moves the time, stopping at each timer on the way and letting everything that follows happen. */
  async advance(by: number): Promise<void> {
    const end = this.elapsed + by;
    await this.settle();
    while (this.nextTimer <= end) {
      this.runTimer();
      await this.settle();
    }
    this.elapsed = Math.max(this.elapsed, end);
    await this.settle();
  }

  /**
   * Resolves once the library has nothing left to do without time passing. Counts the callbacks of `soon`, so it needn't guess.
   */
  async quiet(): Promise<void> {
    for (let calm = 0; calm < 2; calm = this.underWay > 0 ? 0 : calm + 1) await turn();
  }

  /** Lets all promises finish, and what `soon` starts for up to ten turns. Three turns with none of it are the end. */
  protected async settle(): Promise<void> {
    for (let turns = 0, calm = 0; turns < 10 && calm < 3; turns++) {
      calm = this.underWay > 0 ? 0 : calm + 1;
      await turn();
    }
  }
}
