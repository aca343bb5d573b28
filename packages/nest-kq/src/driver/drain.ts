/** The time between the group's call for a rebalance and the member's answer, in which current runs may end. */
import type { Clock } from 'nest-handlers/time';

export class Drain {
  /** Resolves once everything is handled, the limit is reached, or nobody waits any more. */
  readonly ended: Promise<void>;
  private over = false;
  private settle!: () => void;

  /** @param limit In ms. */
  constructor(
    handled: Promise<void>,
    private readonly clock: Clock,
    limit: number,
  ) {
    this.ended = new Promise((resolve) => (this.settle = resolve));
    const timer = clock.after(limit, () => this.stop());
    void handled.then(() => this.stop());
    void this.ended.then(() => timer.cancel());
  }

  /** Stops the wait. Idempotent. */
  stop(): void {
    this.over = true;
    this.settle();
  }

  /** Resolves when the drain has ended. Until then, sends a heartbeat every `interval` ms. */
  async wait(interval: number, beat: () => Promise<unknown>): Promise<void> {
    while (!this.over) {
      await this.within(interval);
      if (!this.over) await beat();
    }
  }

  private within(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.clock.after(milliseconds, resolve);
      void this.ended.then(() => {
        timer.cancel();
        resolve();
      });
    });
  }
}
