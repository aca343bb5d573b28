import type { Clock } from 'nest-handlers/time';

const SLICES = 10;
/** Milliseconds. */
const SLICE = 10;
const RECENT = SLICES * SLICE;
/** Milliseconds. What runs in this time is reserved ahead: more than nodes take to answer, and no more than must be held. */
const RESERVED_AHEAD = 40;
/** Milliseconds. */
const STUCK_AFTER = 1_000;
/** Milliseconds. So much earlier than its time a copy surfaces at most. */
const EARLY = 1_000;
/** Handlers over which their time is averaged. */
const AVERAGED = 100;

/**
 * The slots of a tube in this process, and how much it may reserve for them.
 *
 * - Copies that are due and wait are limited by how fast handlers ended in the last 100 ms: fast handlers are kept busy, and
 *   slow ones leave the jobs to others. When every slot was taken for a second and no handler ended, nobody knows when one
 *   will end, and nothing may wait for it.
 * - Copies that are early wait without a slot, and are limited by how long handlers took, also before a pause: more than all
 *   slots can run in the second for which copies are early would only be released again when they are due. While no handler
 *   has ended, nobody knows how many those are.
 */
export class ReserveBudget {
  /** Slots of handlers that have not returned, and are still waited for. */
  handling = 0;
  /** Slots of claims without an answer. */
  claiming = 0;
  /** Slots of runs that were granted ahead of their time. */
  starting = 0;
  private readonly counts = Array.from({ length: SLICES }, () => 0);
  private slice = 0;
  private recent = 0;
  private ends = 0;
  /** How long handlers take on average, in ms. */
  private handlerTime = 0;
  /** When a slot was free, or a handler ended. */
  private movedAt: number;

  constructor(
    private readonly clock: Clock,
    readonly concurrency: number,
  ) {
    this.movedAt = clock.now();
  }

  /** Slots that are taken. */
  get taken(): number {
    return this.handling + this.claiming + this.starting;
  }

  get free(): number {
    return this.concurrency - this.taken;
  }

  /** A handler returned, or is no longer waited for, so many ms after it began. */
  ended(took: number): void {
    this.handling--;
    this.ends = Math.min(AVERAGED, this.ends + 1);
    this.handlerTime += (took - this.handlerTime) / this.ends;
    this.roll();
    this.counts[this.slice % SLICES]!++;
    this.recent++;
    this.movedAt = this.clock.now();
  }

  /** How many of the copies that are due and wait will have a slot within so many ms. */
  within(ms: number): number {
    const now = this.clock.now();
    if (this.free > 0) this.movedAt = now;
    if (now - this.movedAt >= STUCK_AFTER) return 0;
    this.roll();
    return this.concurrency + Math.ceil((this.recent * ms) / RECENT);
  }

  /**
   * How many more may be reserved; none at 0 or less ◆. `waiting` copies are due, and `asked` reserves have no reply. Where
   * there is enough for all slots, half of what may wait is asked for at once: many small questions cost the nodes 6 % more.
   */
  left(waiting: number, asked: number): number {
    const most = this.within(RESERVED_AHEAD) + this.free;
    const had = waiting + asked;
    return had >= this.concurrency && 2 * had > most ? 0 : most - had;
  }

  /** How many early copies may be held. */
  get mostEarly(): number {
    return this.concurrency * (1 + EARLY / this.handlerTime);
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
