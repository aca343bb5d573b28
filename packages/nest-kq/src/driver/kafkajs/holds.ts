/** Lets kafkajs wait while holding a batch, for as long as that is better than a pause. */
import type { Clock } from 'nest-handlers/time';

/** Each hold ends at its timeout or at `wake`, whichever comes first. */
export class Holds {
  private readonly waiting = new Set<() => void>();

  constructor(private readonly clock: Clock) {}

  /** @param most In ms. */
  hold(most: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.clock.after(most, () => end());
      const end = () => {
        timer.cancel();
        this.waiting.delete(end);
        resolve();
      };
      this.waiting.add(end);
    });
  }

  wake(): void {
    for (const end of this.waiting) end();
  }
}
