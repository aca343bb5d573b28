import type { Clock, Timer } from 'nest-handlers/time';

/** Calls many callbacks every `ms` with one timer, because thousands of timers would cost more than the work itself. */
export class SharedInterval {
  private readonly callbacks = new Set<(late: number) => void>();
  private timer: Timer | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly ms: number,
  ) {}

  /** Adds a callback, first called within `ms`, with its lateness in ms. Returns an idempotent function that removes it. */
  add(callback: (late: number) => void): () => void {
    this.callbacks.add(callback);
    this.timer ??= this.arm();
    return () => {
      this.callbacks.delete(callback);
      if (this.callbacks.size > 0) return;
      this.timer?.cancel();
      this.timer = undefined;
    };
  }

  private arm(): Timer {
    const due = this.clock.now() + this.ms;
    return this.clock.after(this.ms, () => {
      const late = this.clock.now() - due;
      this.timer = this.arm();
      for (const callback of Array.from(this.callbacks)) callback(late);
    });
  }
}
