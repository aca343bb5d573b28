import type { Clock } from 'nest-handlers/time';

const SLICES = 10;
/** Length of a slice. */
const SLICE_MS = 10;
const RECENT_MS = SLICES * SLICE_MS;
/** Copies are reserved for the runs of this time: longer than nodes take to answer, and no more than must be held. */
const RESERVED_AHEAD_MS = 40;
/** Time without a free slot or an ended handler after which the tube is stuck. */
const STUCK_AFTER_MS = 1_000;
/** How much earlier than its due time a copy surfaces at most. */
const MAX_EARLY_MS = 1_000;
/** Handlers over which their duration is averaged. */
const AVERAGED = 100;

/**
 * The slots of a tube in this process, and how much it may reserve for them.
 *
 * - Due copies waiting for a slot are limited by how fast handlers ended in the last 100 ms: fast handlers are kept busy, and slow
 *   ones leave the jobs to others. If every slot was taken for a second and no handler ended, nobody knows when one will, and
 *   nothing may wait for it.
 * - Early copies wait without a slot, and are limited by how long handlers took, also before a pause: more than all slots can run
 *   in the second by which copies are early would only be released again when due. Until a handler has ended, nobody knows how many
 *   that is.
 */
export class ReserveBudget {
  /** Slots of handlers that haven't returned and are still waited for. */
  handling = 0;
  /** Slots of claims without an answer. */
  claiming = 0;
  /** Slots of runs granted ahead of their time. */
  starting = 0;
  private readonly counts = Array.from({ length: SLICES }, () => 0);
  private slice = 0;
  private recent = 0;
  private ends = 0;
  /** Average duration of a handler, in ms. */
  private handlerTime = 0;
  /** When a slot was last free, or a handler ended. */
  private movedAt: number;

  constructor(
    private readonly clock: Clock,
    readonly concurrency: number,
  ) {
    this.movedAt = clock.now();
  }

  /** Number of taken slots. */
  get taken(): number {
    return this.handling + this.claiming + this.starting;
  }

  get free(): number {
    return this.concurrency - this.taken;
  }

  /** A handler returned, or is no longer waited for, `took` ms after it started. */
  ended(took: number): void {
    this.handling--;
    this.ends = Math.min(AVERAGED, this.ends + 1);
    this.handlerTime += (took - this.handlerTime) / this.ends;
    this.roll();
    this.counts[this.slice % SLICES]!++;
    this.recent++;
    this.movedAt = this.clock.now();
  }

  /** How many due copies will get a slot within `ms`. */
  within(ms: number): number {
    const now = this.clock.now();
    if (this.free > 0) this.movedAt = now;
    if (now - this.movedAt >= STUCK_AFTER_MS) return 0;
    this.roll();
    return this.concurrency + Math.ceil((this.recent * ms) / RECENT_MS);
  }

  /**
   * How many more copies may be reserved; none at 0 or less ◆. `waiting` copies are due, and `asked` reserves have no reply. Once
   * there is enough for all slots, half of what may wait is asked for at once: many small requests cost the nodes 6 % more.
   */
  left(waiting: number, asked: number): number {
    const most = this.within(RESERVED_AHEAD_MS) + this.free;
    const had = waiting + asked;
    return had >= this.concurrency && 2 * had > most ? 0 : most - had;
  }

  /** How many early copies may be held. */
  get mostEarly(): number {
    return this.concurrency * (1 + MAX_EARLY_MS / this.handlerTime);
  }

  private roll(): void {
    const slice = Math.floor(this.clock.now() / SLICE_MS);
    const passed = Math.min(SLICES, slice - this.slice);
    for (let i = 1; i <= passed; i++) {
      const index = (this.slice + i) % SLICES;
      this.recent -= this.counts[index]!;
      this.counts[index] = 0;
    }
    this.slice = slice;
  }
}
