import type { Payload } from './payload.js';
import { machineTime } from './clock.js';

/** Milliseconds without any run after which the round fails. The time of the adds counts, too. */
const PATIENCE = 120_000;

/** Counts runs, and notes which jobs ran. A round with a lost job or a second run is not valid. */
export class RunCount {
  /** Resolves when every job has run. Rejects when no job ran for two minutes, or a job ran twice. */
  readonly done: Promise<void>;
  /** When the last run began, by the machine's clock in ms. */
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
    this.done.catch(() => undefined); // no unhandled rejection if nobody awaits it yet
    this.watch = setInterval(() => this.look(), PATIENCE);
  }

  /** Call it when a job begins to run. */
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
