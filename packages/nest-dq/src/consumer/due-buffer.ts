import { Heap } from '../heap.js';
import type { Clock, Timer } from '../time.js';
import type { Delivery } from './delivery.js';

/** Milliseconds. Ledger time moves against the timer's, so no timer is trusted for longer. */
const LONGEST_WAIT = 1_000;

/** Holds what is early until the millisecond. One timer for the earliest; an interval would cost 5 % of a core. */
export class DueBuffer {
  private readonly heap = new Heap<Delivery>((a, b) => a.due < b.due);
  private timer: Timer | undefined;
  private wakeAt = Infinity;

  /** `ledgerNow` is ledger time in ms; `onDue` gets all that is due at once. */
  constructor(
    private readonly clock: Clock,
    private readonly ledgerNow: () => number,
    private readonly onDue: (due: Delivery[]) => void,
  ) {}

  get size(): number {
    return this.heap.size;
  }

  add(delivery: Delivery): void {
    this.heap.add(delivery);
    if (this.heap.peek() === delivery) this.arm();
  }

  /** Does nothing with what it does not hold. */
  remove(delivery: Delivery): void {
    this.heap.remove(delivery);
  }

  /** Empties it. */
  takeAll(): Delivery[] {
    this.disarm();
    return this.heap.takeAll();
  }

  private arm(): void {
    const first = this.heap.peek();
    if (!first) return this.disarm();
    const wait = Math.min(LONGEST_WAIT, Math.max(0, first.due - this.ledgerNow()));
    const at = this.clock.now() + wait;
    if (this.timer && this.wakeAt <= at) return;
    this.disarm();
    this.wakeAt = at;
    this.timer = this.clock.after(wait, () => this.wake());
  }

  private disarm(): void {
    this.timer?.cancel();
    this.timer = undefined;
    this.wakeAt = Infinity;
  }

  private wake(): void {
    this.disarm();
    const now = this.ledgerNow();
    const due: Delivery[] = [];
    for (let next = this.heap.peek(); next && next.due <= now; next = this.heap.peek()) {
      this.heap.remove(next);
      due.push(next);
    }
    if (due.length > 0) this.onDue(due);
    this.arm(); // also when it woke too soon
  }
}
