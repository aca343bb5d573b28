import { Heap } from 'nest-handlers/time';
import { WakeTimer } from '../../time/wake-timer.js';
import type { TubeContext } from '../tube-context.js';
import type { Run } from './run.js';

/** Runs that were granted ahead of their due time wait here until ledger time has certainly reached it. */
export class StartScheduler {
  private readonly heap = new Heap<Run>((a, b) => a.startsAt < b.startsAt);
  private readonly timer: WakeTimer;

  constructor(private readonly context: Pick<TubeContext, 'clock' | 'ledger'>) {
    this.timer = new WakeTimer(context.clock, () => this.wake());
  }

  isDue({ startsAt }: Run): boolean {
    return startsAt <= this.context.ledger.nowAtLeast();
  }

  /** Resolves when the run is due, and never after `close`. */
  due(run: Run): Promise<void> {
    return new Promise((resolve) => {
      run.start = resolve;
      this.heap.add(run);
      this.arm();
    });
  }

  close(): void {
    this.timer.cancel();
  }

  private arm(): void {
    const first = this.heap.peek();
    if (first) this.timer.within(Math.max(0, first.startsAt - this.context.ledger.nowAtLeast()));
  }

  private wake(): void {
    const now = this.context.ledger.nowAtLeast();
    for (let next = this.heap.peek(); next && next.startsAt <= now; next = this.heap.peek()) {
      this.heap.remove(next);
      next.start();
    }
    this.arm(); // also after a timer that fired too soon
  }
}
