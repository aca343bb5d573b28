import type { Clock, Timer } from 'nest-handlers/time';

/**
 * One timer for the earliest of many times, which is far cheaper than one timer each. It is only reset for an earlier time, so it
 * wakes too soon if the earliest time has been removed.
 */
export class WakeTimer {
  private timer: Timer | undefined;
  private wakesAt = Infinity;

  constructor(
    private readonly clock: Clock,
    private readonly wake: () => void,
  ) {}

  /** Wakes in `ms` ms, unless it wakes sooner. */
  within(ms: number): void {
    this.at(this.clock.now() + ms);
  }

  /** Like `within`, at a time of `clock.now()`; Infinity for never. */
  at(time: number): void {
    if (this.wakesAt <= time) return;
    this.timer?.cancel();
    this.wakesAt = time;
    this.timer = this.clock.after(time - this.clock.now(), this.fire);
  }

  cancel(): void {
    this.timer?.cancel();
    this.wakesAt = Infinity;
  }

  private readonly fire = (): void => {
    this.wakesAt = Infinity;
    this.wake();
  };
}
