import type { Payload } from './payload.js';
import { machineTime } from './clock.js';

/** Milliseconds without a single run after which a round is given up, its adds included. */
const PATIENCE = 120_000;

/** Counts runs, and knows which jobs ran: a lost job or a second run makes the round no valid one. */
export class RunCount {
  /** Resolves when every job has run; rejects when none ran for two minutes, or one ran twice. */
  readonly done: Promise<void>;
  /** When the last one began, by the machine's clock in ms. */
  lastAt = 0;
  count = 0;
  private readonly ran: Uint8Array;
  private finish!: () => void;
  private fail!: (error: Error) => void;
  private readonly watch: NodeJS.Timeout;
  private counted = 0;

  constructor(private readonly jobs: number) {
    this.ran = new Uint8Array(jobs);
    this.done = new Promise((resolve, reject) => {
      this.finish = resolve;
      this.fail = reject;
    });
    this.done.catch(() => undefined); // who awaits it gets the error, maybe later
    this.watch = setInterval(() => this.look(), PATIENCE);
  }

  /** To be called when a job begins to run. */
  readonly add = ({ n }: Payload): void => {
    if (this.ran[n] !== 0) return this.end(new Error(`job ${n} of ${this.jobs} ran a second time`));
    this.ran[n] = 1;
    if (++this.count === this.jobs) {
      this.lastAt = machineTime();
      this.end();
    }
  };

  private look(): void {
    if (this.count === this.counted) {
      this.end(new Error(`only ${this.count} of ${this.jobs} jobs ran`));
    }
    this.counted = this.count;
  }

  private end(error?: Error): void {
    clearInterval(this.watch);
    if (error) this.fail(error);
    else this.finish();
  }
}
