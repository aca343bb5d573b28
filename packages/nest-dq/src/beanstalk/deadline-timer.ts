import type { Clock } from '../time/clock.js';
import { WakeTimer } from '../time/wake-timer.js';

/** A deadline that keeps moving. If it has moved away when the timer wakes, the timer is set again for the rest. */
export class DeadlineTimer {
  private readonly timer: WakeTimer;

  /** `deadline` returns the present one by `clock.now()`; Infinity: there is none. */
  constructor(
    private readonly clock: Clock,
    private readonly deadline: () => number,
    private readonly missed: () => void,
  ) {
    this.timer = new WakeTimer(clock, () => this.look());
  }

  /** Call it whenever the deadline may have come nearer. */
  watch(): void {
    this.timer.at(this.deadline());
  }

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
