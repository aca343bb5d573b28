import type { TubeLedger } from '../ledger/ledger.js';
import type { Clock, Timer } from '../time.js';
import type { Run } from './run.js';

const BATCH = 1_000;
/** Milliseconds. A third of the copies' time to run. */
const TOUCH_EVERY = 20_000;

/** Keeps what this process runs: the leases in the ledger, every third of a lease, and the copies on their nodes. */
export class Heartbeat {
  private leaseTimer: Timer | undefined;
  private touchTimer: Timer | undefined;

  constructor(
    private readonly ledger: TubeLedger,
    private readonly clock: Clock,
    private readonly lease: number,
    /** All runs whose outcome the ledger has not taken. */
    private readonly runs: () => Iterable<Run>,
    private readonly events: { lost(run: Run): void; touch(): void },
  ) {}

  /** Idempotent. */
  start(): void {
    this.leaseTimer ??= this.everyLease();
    this.touchTimer ??= this.everyTouch();
  }

  /** Idempotent. */
  stop(): void {
    this.leaseTimer?.cancel();
    this.touchTimer?.cancel();
    this.leaseTimer = this.touchTimer = undefined;
  }

  /** A refusal ends a run's claim; silence does not ◆. */
  beat(): void {
    const runs = [...this.runs()];
    for (let start = 0; start < runs.length; start += BATCH) this.extend(runs.slice(start, start + BATCH));
  }

  private extend(runs: readonly Run[]): void {
    const sentAt = this.ledger.now();
    this.ledger.extend(runs.map((run) => run.ref)).then(
      (answers) =>
        answers.forEach((answer, i) => {
          const run = runs[i]!;
          if (answer === 'ok') run.lastOk = sentAt;
          else if (run.handling) this.events.lost(run);
        }),
      () => undefined, // the ledger is away, which its listeners hear; the next beat asks again
    );
  }

  private everyLease(): Timer {
    return this.clock.after(this.lease / 3, () => {
      this.beat();
      this.leaseTimer = this.everyLease();
    });
  }

  private everyTouch(): Timer {
    return this.clock.after(TOUCH_EVERY, () => {
      this.events.touch();
      this.touchTimer = this.everyTouch();
    });
  }
}
