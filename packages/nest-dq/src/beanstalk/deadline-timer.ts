import type { Clock, Timer } from '../time.js';

/**
 * One timer for a deadline that keeps moving. It is set again only where the deadline came nearer; where it moved away,
 * the timer fires early, looks, and is set for the rest: far cheaper than one timer for each command.
 */
export class DeadlineTimer {
  private timer: Timer | undefined;
  private firesAt = Infinity;

  /** `deadline` tells the present one by `clock.now()`, Infinity for none. */
  constructor(
    private readonly clock: Clock,
    private readonly deadline: () => number,
    private readonly missed: () => void,
  ) {}

  /** To be called whenever the deadline may have come nearer. */
  watch(): void {
    const deadline = this.deadline();
    if (deadline >= this.firesAt) return;
    this.timer?.cancel();
    this.firesAt = deadline;
    this.timer = this.clock.after(deadline - this.clock.now(), this.fire);
  }

  /** Nothing is missed any more, once there is no deadline. */
  cancel(): void {
    this.timer?.cancel();
    this.firesAt = Infinity;
  }

  private readonly fire = (): void => {
    this.firesAt = Infinity;
    if (!this.isOver()) return this.watch();
    // The reply may be waiting in the socket behind a blocked event loop: read it first.
    this.clock.soon(() => (this.isOver() ? this.missed() : this.watch()));
  };

  private isOver(): boolean {
    return this.clock.now() >= this.deadline();
  }
}
