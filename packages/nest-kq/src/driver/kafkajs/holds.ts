/** Lets kafkajs wait with a batch in hand, for as long as that is better than to pause. */
import type { Clock } from 'nest-handlers/time';

/** Each hold ends at the first of: its time, `wake`. */
export class Holds {
  private readonly waiting = new Set<() => void>();

  constructor(private readonly clock: Clock) {}

  /** @param most Milliseconds. */
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
