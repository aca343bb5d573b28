import { Heap } from 'nest-handlers/time';
import { WakeTimer } from '../../time/wake-timer.js';
import type { TubeContext } from '../tube-context.js';
import type { Run } from './run.js';

/** Begins runs that were granted ahead of their due time, and never before ledger time has certainly reached it. */
export class StartScheduler {
  private readonly heap = new Heap<Run>((a, b) => a.startsAt < b.startsAt);
  private readonly timer: WakeTimer;

  constructor(
    private readonly context: Pick<TubeContext, 'clock' | 'ledger' | 'budget'>,
    private readonly begin: (run: Run) => void,
  ) {
    this.timer = new WakeTimer(context.clock, () => this.wake());
  }

  /** Begins the run at once if it is due. */
  add(run: Run): void {
    const { ledger, budget } = this.context;
    if (run.startsAt <= ledger.nowAtLeast()) return this.begin(run);
    budget.starting++;
    this.heap.add(run);
    this.arm();
  }

  close(): void {
    this.timer.cancel();
  }

  private arm(): void {
    const first = this.heap.peek();
    if (first) this.timer.within(Math.max(0, first.startsAt - this.context.ledger.nowAtLeast()));
  }

  private wake(): void {
    const { ledger, budget } = this.context;
    const now = ledger.nowAtLeast();
    for (let next = this.heap.peek(); next && next.startsAt <= now; next = this.heap.peek()) {
      this.heap.remove(next);
      budget.starting--;
      this.begin(next);
    }
    this.arm(); // also after a timer that fired too soon
  }
}
