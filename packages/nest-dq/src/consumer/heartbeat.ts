// ◆ marks a rule of docs/internals/delivery.md.
import { Batcher } from '../ledger/batcher.js';
import type { ExtendAnswer } from '../ledger/requests.js';
import type { Clock } from 'nest-handlers/time';
import type { Reserver } from './reserve/reserver.js';
import { loseLease, revokeRun, type Run } from './run/run.js';
import { SharedInterval } from './shared-interval.js';
import type { Beats, TubeContext } from './tube-context.js';

const LARGEST_BATCH = 1_000;
/** Interval between touches, a third of the copies' time to run. */
const TOUCH_EVERY_MS = 20_000;
/** Max interval between renewals. The answer also carries revokes, of which a handler must be notified within 5 s. */
const LONGEST_PAUSE_MS = 4_500;

/** Creates the intervals shared by all tubes. `lease` is in ms. */
export function beatsOf(clock: Clock, lease: number): Beats {
  const leases = new SharedInterval(clock, Math.min(lease / 3, LONGEST_PAUSE_MS));
  return { leases, touches: new SharedInterval(clock, TOUCH_EVERY_MS) };
}

/**
 * Renews what this process runs: the leases in the ledger, at least once per third of a lease, and the reserved copies on their
 * nodes. A refused renewal ends the run's right to continue; a ledger that doesn't answer does not ◆.
 */
export class Heartbeat {
  private readonly batcher: Batcher<Run, ExtendAnswer>;
  private ends: (() => void)[] | undefined;

  constructor(
    private readonly context: Pick<
      TubeContext,
      'tube' | 'ledger' | 'clock' | 'lease' | 'runs' | 'report' | 'beats'
    >,
    private readonly reserver: Pick<Reserver, 'touchAll'>,
  ) {
    const { tube, ledger, clock, report } = context;
    this.batcher = new Batcher(ledger, clock, {
      largest: LARGEST_BATCH,
      call: (runs) => ledger.extend(runs.map((run) => run.ref)),
      answered: (runs, answers, { ledgerTime }) =>
        answers.forEach((answer, i) => this.answered(runs[i]!, answer, ledgerTime)),
      unanswered: () => undefined, // the next beat asks again
      failed: (run, error) => report.ledgerTrouble(tube, run.id, error),
    });
  }

  /** Idempotent. */
  start(): void {
    const { leases, touches } = this.context.beats;
    this.ends ??= [leases.add((late) => this.renew(late)), touches.add(() => this.reserver.touchAll())];
  }

  /** Stops for good. Idempotent. */
  stop(): void {
    this.batcher.close();
    this.ends?.forEach((end) => end());
    this.ends = undefined;
  }

  /** Renews all leases now. */
  beat(): void {
    for (const run of this.context.runs.values()) this.batcher.add(run);
    this.batcher.flush();
  }

  private answered(run: Run, answer: ExtendAnswer, sentAt: number): void {
    if (answer !== 'refused') run.lastOk = sentAt;
    if (answer === 'ok' || !run.handling) return; // the answer to its completion decides
    if (answer === 'refused') loseLease(this.context, run);
    else revokeRun(this.context, run);
  }

  private renew(late: number): void {
    const { lease, runs, report, tube } = this.context;
    if (late > lease / 3 && runs.size > 0) report.stoodStill(tube, late, lease);
    this.beat();
  }
}
