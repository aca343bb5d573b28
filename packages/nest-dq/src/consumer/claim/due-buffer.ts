import { Heap, type Clock } from 'nest-handlers/time';
import type { TubeLedger } from '../../ledger/ledger.js';
import { WakeTimer } from '../../time/wake-timer.js';
import type { Delivery } from '../reserve/delivery.js';

/** Milliseconds. Ledger time and the timer's time drift apart, so no timer runs for longer. */
const LONGEST_WAIT = 1_000;

/**
 * Holds early copies until they are claimed. While slots are free, a copy is claimed as long before its due time as the
 * ledger allows (`ahead`): then the answer is there in time, and one call claims several. Else it is claimed at its due
 * time. One timer waits for the earliest copy; an interval would cost 5 % of a core.
 */
export class DueBuffer {
  private readonly heap = new Heap<Delivery>((a, b) => a.due < b.due);
  private readonly timer: WakeTimer;

  /** `onDue` gets all copies to claim in one call. */
  constructor(
    clock: Clock,
    private readonly ledger: Pick<TubeLedger, 'now' | 'ahead'>,
    /** Free slots that no due copy waits for. */
    private readonly spare: () => number,
    private readonly onDue: (due: Delivery[]) => void,
  ) {
    this.timer = new WakeTimer(clock, () => this.wake());
  }

  get size(): number {
    return this.heap.size;
  }

  add(delivery: Delivery): void {
    delivery.fold();
    this.heap.add(delivery);
    if (this.heap.peek() === delivery) this.arm();
  }

  has(delivery: Delivery): boolean {
    return this.heap.has(delivery);
  }

  /** Does nothing when it does not hold the copy. */
  remove(delivery: Delivery): void {
    this.heap.remove(delivery);
  }

  /** Empties it. */
  takeAll(): Delivery[] {
    this.timer.cancel();
    return this.heap.takeAll();
  }

  private arm(): void {
    const first = this.heap.peek();
    if (!first) return;
    const { ledger } = this;
    const ahead = this.spare() > 0 ? ledger.ahead / 2 : 0;
    this.timer.within(Math.min(LONGEST_WAIT, Math.max(0, first.due - ahead - ledger.now())));
  }

  private wake(): void {
    const { ledger } = this;
    const now = ledger.now();
    const spare = this.spare();
    const due: Delivery[] = [];
    const until = () => (due.length < spare ? now + ledger.ahead : now);
    for (let next = this.heap.peek(); next && next.due <= until(); next = this.heap.peek()) {
      this.heap.remove(next);
      due.push(next);
    }
    if (due.length > 0) this.onDue(due);
    this.arm(); // also after a timer that fired too soon
  }
}
