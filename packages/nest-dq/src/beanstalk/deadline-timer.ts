import type { Clock } from '../time/clock.js';
import { WakeTimer } from '../time/wake-timer.js';

/** A deadline that keeps moving. Where it moved away, the timer wakes, looks, and is set for the rest. */
export class DeadlineTimer {
  private readonly timer: WakeTimer;

  /** `deadline` tells the present one by `clock.now()`, Infinity for none. */
  constructor(
    private readonly clock: Clock,
    private readonly deadline: () => number,
    private readonly missed: () => void,
  ) {
    this.timer = new WakeTimer(clock, () => this.look());
  }

  /** To be called whenever the deadline may have come nearer. */
  watch(): void {
    this.timer.at(this.deadline());
  }

  /** Nothing is missed any more, once there is no deadline. */
  cancel(): void {
    this.timer.cancel();
  }

  private look(): void {
    if (!this.isOver()) return this.watch();
    // The reply may be waiting in the socket behind a blocked event loop: read it first.
    this.clock.soon(() => (this.isOver() ? this.missed() : this.watch()));
  }

  private isOver(): boolean {
    return this.clock.now() >= this.deadline();
  }
}
