import type { Clock } from '../../time/clock.js';

const SLICES = 10;
/** Milliseconds. */
const SLICE = 10;
const RECENT = SLICES * SLICE;
/** Milliseconds. What runs in that time is reserved before: more than nodes take to answer, and no more than must be held. */
const RESERVED_AHEAD = 40;
/** Milliseconds. */
const STUCK_AFTER = 1_000;

/**
 * How much one process may reserve of a tube. What is early waits without a slot and is not counted; what is due and
 * waiting is limited by how fast handlers ended in the last 100 ms, so that fast ones are kept fed and slow ones leave
 * the jobs to others. Once every slot was taken for a second and no handler ended, nobody knows when one will, and
 * nothing is to wait for that.
 */
export class Room {
  private readonly counts = Array.from({ length: SLICES }, () => 0);
  private slice = 0;
  private recent = 0;
  /** When a slot was free, or a handler ended. */
  private movedAt: number;

  constructor(
    private readonly clock: Clock,
    readonly concurrency: number,
  ) {
    this.movedAt = clock.now();
  }

  /** So many handlers ended. */
  completed(count: number): void {
    this.roll();
    this.counts[this.slice % SLICES]! += count;
    this.recent += count;
    this.movedAt = this.clock.now();
  }

  /** How many may be due and waiting. */
  window(freeSlots: number): number {
    return this.within(RESERVED_AHEAD, freeSlots);
  }

  /** How many of those that are due and waiting will have had their slot in so many ms from now. */
  within(ms: number, freeSlots: number): number {
    const now = this.clock.now();
    if (freeSlots > 0) this.movedAt = now;
    if (now - this.movedAt >= STUCK_AFTER) return 0;
    this.roll();
    return this.concurrency + Math.ceil((this.recent * ms) / RECENT);
  }

  /**
   * How many more may be reserved; none at 0 or less ◆. `asked` are reserves without a reply. Where there is enough for
   * all slots, half of what may wait is asked for at once: many small questions cost the nodes 6 % more.
   */
  left(freeSlots: number, waiting: number, asked: number): number {
    const most = this.window(freeSlots) + freeSlots;
    const had = waiting + asked;
    return had >= this.concurrency && 2 * had > most ? 0 : most - had;
  }

  private roll(): void {
    const slice = Math.floor(this.clock.now() / SLICE);
    const passed = Math.min(SLICES, slice - this.slice);
    for (let i = 1; i <= passed; i++) {
      const index = (this.slice + i) % SLICES;
      this.recent -= this.counts[index]!;
      this.counts[index] = 0;
    }
    this.slice = slice;
  }
}
