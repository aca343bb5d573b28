/** Waits until a consumer's queue has something. */
import type { Clock } from 'nest-handlers/time';

export class QueueSignal {
  private resolve = () => {};

  constructor(private readonly clock: Clock) {}

  /** Call when there may be something. */
  readonly wake = (): void => this.resolve();

  /** Resolves at the next `wake` after this call, or after `most` ms. */
  next(most: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.clock.after(most, resolve);
      this.resolve = () => {
        timer.cancel();
        resolve();
      };
    });
  }
}
