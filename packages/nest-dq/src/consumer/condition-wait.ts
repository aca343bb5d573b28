import type { Clock } from 'nest-handlers/time';

/** Waits for a condition that is looked at after every change, and never by polling. */
export class ConditionWait {
  private onChange: (() => void) | undefined;

  constructor(private readonly clock: Clock) {}

  /** To be called when something changed. */
  tell(): void {
    this.onChange?.();
  }

  /** Resolves when the condition holds, or after `limit` ms. One at a time. */
  until(condition: () => boolean, limit: number): Promise<void> {
    if (condition()) return Promise.resolve();
    return new Promise((resolve) => {
      const end = () => {
        timer.cancel();
        this.onChange = undefined;
        resolve();
      };
      const timer = this.clock.after(limit, end);
      this.onChange = () => {
        if (condition()) end();
      };
    });
  }
}
