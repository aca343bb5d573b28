import { Heap } from '../../structures/heap.js';
import type { TubeLedger } from '../../ledger/ledger.js';
import type { Clock } from '../../time/clock.js';
import { WakeTimer } from '../../time/wake-timer.js';
import type { Delivery } from '../reserve/delivery.js';
import type { Grant } from './run.js';

/** A run that the ledger has granted. */
export class Start {
  heapIndex = -1;

  constructor(
    readonly delivery: Delivery,
    readonly grant: Grant,
    /** Ledger time, ms. */
    readonly claimedAt: number,
    /** Milliseconds of the clock: later, somebody else may have been granted the job. */
    readonly usableUntil: number,
  ) {}
}

/** Begins runs that were granted ahead of their time, and never before ledger time has certainly come to it. */
export class Starts {
  private readonly heap = new Heap<Start>((a, b) => a.grant.due < b.grant.due);
  private readonly timer: WakeTimer;

  constructor(
    clock: Clock,
    private readonly ledger: Pick<TubeLedger, 'nowAtLeast'>,
    private readonly begin: (start: Start) => void,
  ) {
    this.timer = new WakeTimer(clock, () => this.wake());
  }

  /** Those that wait for their time. */
  get size(): number {
    return this.heap.size;
  }

  /** At once where its time has come. */
  add(start: Start): void {
    if (start.grant.due <= this.ledger.nowAtLeast()) return this.begin(start);
    this.heap.add(start);
    this.arm();
  }

  close(): void {
    this.timer.cancel();
  }

  private arm(): void {
    const first = this.heap.peek();
    if (first) this.timer.within(Math.max(0, first.grant.due - this.ledger.nowAtLeast()));
  }

  private wake(): void {
    const now = this.ledger.nowAtLeast();
    for (let next = this.heap.peek(); next && next.grant.due <= now; next = this.heap.peek()) {
      this.heap.remove(next);
      this.begin(next);
    }
    this.arm(); // also when it woke too soon
  }
}
