import type { Clock, Timer } from '../../time/clock.js';

/**
 * Gathers items while much happens: those of the first turn are given at once, and then, for as long as there are any,
 * those of each interval together.
 */
export class Pace<Item> {
  private gathered: Item[] = [];
  private begun = false;
  private timer: Timer | undefined;

  /** `interval` in ms. */
  constructor(
    private readonly clock: Clock,
    private readonly interval: number,
    private readonly give: (item: Item) => void,
  ) {}

  add(item: Item): void {
    if (this.timer) {
      this.gathered.push(item);
      return;
    }
    this.give(item);
    if (this.begun) return;
    this.begun = true;
    this.clock.soon(() => this.wait());
  }

  private wait(): void {
    this.begun = false;
    this.timer = this.clock.after(this.interval, () => this.flush());
  }

  private flush(): void {
    this.timer = undefined;
    if (this.gathered.length === 0) return;
    const { gathered } = this;
    this.gathered = [];
    for (const item of gathered) this.give(item);
    this.wait();
  }
}
