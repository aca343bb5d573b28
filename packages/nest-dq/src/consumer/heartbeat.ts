import { toError } from '../errors.js';
import type { TubeLedger } from '../ledger/ledger.js';
import type { Clock, Timer } from '../time/clock.js';
import { halves } from './finish/insistent-calls.js';
import type { Run } from './run/run.js';

const BATCH = 1_000;
/** Milliseconds. A third of the copies' time to run. */
const TOUCH_EVERY = 20_000;
/** Milliseconds. The answer tells of a revoke too, which a handler hears of within 5 s. */
const LONGEST_PAUSE = 4_500;

export interface HeartbeatEvents {
  lost(run: Run): void;
  /** A revoke asks the handler to stop. May be told more than once. */
  revoked(run: Run): void;
  /** The ledger answers, but failed at this run. */
  trouble(run: Run, error: Error): void;
  /** The event loop was blocked, or the process stopped, for more than a third of the lease of what runs. */
  stoodStill(ms: number): void;
  /** Time to touch the copies. */
  touch(): void;
}

/** Keeps what this process runs: the leases in the ledger, every third of a lease or sooner, and the copies on their nodes. */
export class Heartbeat {
  private leaseTimer: Timer | undefined;
  private touchTimer: Timer | undefined;
  private stopped = false;

  constructor(
    private readonly ledger: TubeLedger,
    private readonly clock: Clock,
    private readonly lease: number,
    /** All runs whose outcome the ledger has not taken. */
    private readonly runs: () => Iterable<Run>,
    private readonly events: HeartbeatEvents,
  ) {}

  /** Idempotent. */
  start(): void {
    this.leaseTimer ??= this.everyLease();
    this.touchTimer ??= this.everyTouch();
  }

  /** For good. Idempotent. */
  stop(): void {
    this.stopped = true;
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
          if (answer !== 'refused') run.lastOk = sentAt;
          if (answer === 'ok' || !run.handling) return; // its finish will be told too
          if (answer === 'refused') this.events.lost(run);
          else this.events.revoked(run);
        }),
      (error: unknown) => this.failed(runs, error),
    );
  }

  /** The next beat asks again. One run that the ledger fails at does not cost the others their leases. */
  private failed(runs: readonly Run[], error: unknown): void {
    if (this.ledger.away || this.stopped) return;
    if (runs.length > 1) for (const half of halves(runs)) this.extend(half);
    else this.events.trouble(runs[0]!, toError(error));
  }

  private everyLease(): Timer {
    const pause = Math.min(this.lease / 3, LONGEST_PAUSE);
    const due = this.clock.now() + pause;
    return this.clock.after(pause, () => {
      const late = this.clock.now() - due;
      if (late > this.lease / 3 && !isEmpty(this.runs())) this.events.stoodStill(late);
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

function isEmpty(items: Iterable<unknown>): boolean {
  for (const _item of items) return false;
  return true;
}
