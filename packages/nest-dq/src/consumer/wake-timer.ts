import type { Clock, Timer } from '../time.js';

/** One timer for the earliest of many times: it is set again only where that comes nearer. */
export class WakeTimer {
  private timer: Timer | undefined;
  private wakesAt = Infinity;

  constructor(
    private readonly clock: Clock,
    private readonly wake: () => void,
  ) {}

  /** Wakes in so many ms, unless it does so sooner. */
  within(ms: number): void {
    const at = this.clock.now() + ms;
    if (this.wakesAt <= at) return;
    this.timer?.cancel();
    this.wakesAt = at;
    this.timer = this.clock.after(ms, () => {
      this.wakesAt = Infinity;
      this.wake();
    });
  }

  cancel(): void {
    this.timer?.cancel();
    this.wakesAt = Infinity;
  }
}
