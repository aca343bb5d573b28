import type { Clock } from 'nest-handlers/time';

/** Ends each fault at its time, whatever the plan does meanwhile. */
export class Healing {
  private healedAt = 0;

  constructor(private readonly world: Clock) {}

  /** Milliseconds until all faults that have begun are over. */
  get left(): number {
    return this.healedAt - this.world.now();
  }

  after(ms: number, heal: () => void): void {
    this.healedAt = Math.max(this.healedAt, this.world.now() + ms);
    this.world.after(ms, heal);
  }
}
