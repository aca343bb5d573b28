import type { Clock, Timer } from 'nest-handlers/time';

/** Calls many back every so many ms, all of them with one timer: for thousands, timers would cost more than what they do. */
export class SharedInterval {
  private readonly callbacks = new Set<(late: number) => void>();
  private timer: Timer | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly ms: number,
  ) {}

  /** Calls back the first time within `ms`, with how late that is, in ms. Returns how to end it, which is idempotent. */
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
