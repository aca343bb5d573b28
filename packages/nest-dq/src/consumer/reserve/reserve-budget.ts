// ◆ marks a rule of docs/internals/delivery.md.
import type { Clock } from 'nest-handlers/time';

const SLICES = 10;
/** Length of a time slice. */
const SLICE_MS = 10;
const RECENT_MS = SLICES * SLICE_MS;
/** How far ahead copies are reserved: longer than nodes take to answer, but not so long that more are held than necessary. */
const RESERVED_AHEAD_MS = 40;
/** Time without a free slot or an ended handler after which the tube is stuck. */
const STUCK_AFTER_MS = 1_000;
/** Max time by which a copy surfaces before its due time. */
const MAX_EARLY_MS = 1_000;
/** Number of handlers over which durations are averaged. */
const AVERAGED = 100;

/**
 * The slots of a tube in this process, and how much it may reserve for them.
 *
 * - Due copies waiting for a slot are limited by how fast handlers ended in the last 100 ms: fast handlers are kept busy, and
 *   slow ones leave jobs to other processes. If every slot has been taken for a second and no handler has ended, there is no
 *   telling when one will, so no copy may wait for it.
 * - Early copies wait without a slot, and are limited by how long handlers took, even before a pause. Copies surface up to a
 *   second early, so if more were held than all slots can run in a second, the rest would only be released again when due. Until
 *   a handler has ended, that number is unknown.
 */
export class ReserveBudget {
  /** Number of slots of handlers that haven't returned and are still waited for. */
  handling = 0;
  /** Number of slots of unanswered claims. */
  claiming = 0;
  /** Number of slots of runs granted ahead of their time. */
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
    /** Number of slots. */
    public concurrency: number,
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

  /** Called when a handler has returned, or is no longer waited for, `took` ms after it started. */
  ended(took: number): void {
    this.handling--;
    this.ends = Math.min(AVERAGED, this.ends + 1);
    this.handlerTime += (took - this.handlerTime) / this.ends;
    this.roll();
    this.counts[this.slice % SLICES]!++;
    this.recent++;
    this.movedAt = this.clock.now();
  }

  /** Returns how many due copies will get a slot within `ms`. */
  within(ms: number): number {
    const now = this.clock.now();
    if (this.free > 0) this.movedAt = now;
    if (now - this.movedAt >= STUCK_AFTER_MS) return 0;
    this.roll();
    return this.concurrency + Math.ceil((this.recent * ms) / RECENT_MS);
  }

  /**
   * Returns how many more copies may be reserved; none if 0 or less ◆. `waiting`: number of due copies; `asked`: number of
   * reserves without a reply. Once there are enough for all slots, half of what may wait is requested in one go, because many
   * small requests cost the nodes 6 % more.
   */
  left(waiting: number, asked: number): number {
    const most = this.within(RESERVED_AHEAD_MS) + this.free;
    const had = waiting + asked;
    return had >= this.concurrency && 2 * had > most ? 0 : most - had;
  }

  /** Max number of early copies to hold. */
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
