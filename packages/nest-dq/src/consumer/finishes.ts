import type { FinishAnswer, FinishRequest, TubeLedger } from '../ledger/ledger.js';
import type { Clock, Timer } from '../time.js';
import type { Verdict } from './outcome.js';
import type { Run } from './run.js';

const BATCH = 1_000;
/** Milliseconds. */
const AGAIN_AFTER = 500;

interface Pending {
  readonly run: Run;
  readonly verdict: Verdict;
  /** Ledger time of a retry, in ms. */
  readonly due: number;
}

/**
 * Tells the ledger what became of runs: one call for all that ended in a turn. What gets no answer is kept and sent
 * again; the ledger knows a repeat by its fence.
 */
export class Finishes {
  private pending: Pending[] = [];
  private inFlight = 0;
  private scheduled = false;
  private again: Timer | undefined;
  private closed = false;

  constructor(
    private readonly ledger: TubeLedger,
    private readonly clock: Clock,
    private readonly onAnswer: (run: Run, verdict: Verdict, answer: FinishAnswer, retryDue: number) => void,
  ) {}

  /** Outcomes that the ledger has not taken yet. */
  get size(): number {
    return this.pending.length + this.inFlight;
  }

  add(run: Run, verdict: Verdict): void {
    const due = verdict.kind === 'retry' ? Math.ceil(this.ledger.now() + verdict.delay) : 0;
    this.pending.push({ run, verdict, due });
    this.schedule();
  }

  /** Sends what waits, at once. */
  flush(): void {
    this.scheduled = false;
    this.again?.cancel();
    this.again = undefined;
    while (this.pending.length > 0) this.send(this.pending.splice(0, BATCH));
  }

  /** Gives up on what the ledger has not taken: the leases end by themselves. */
  close(): void {
    this.closed = true;
    this.again?.cancel();
  }

  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    this.clock.soon(() => this.flush());
  }

  private send(batch: Pending[]): void {
    this.inFlight += batch.length;
    this.ledger.finish(batch.map(requestOf)).then(
      (answers) => {
        this.inFlight -= batch.length;
        answers.forEach((answer, i) => {
          const { run, verdict, due } = batch[i]!;
          this.onAnswer(run, verdict, answer, due);
        });
      },
      () => {
        this.inFlight -= batch.length;
        this.pending.push(...batch);
        if (!this.closed) this.again ??= this.clock.after(AGAIN_AFTER, () => this.flush());
      },
    );
  }
}

function requestOf({ run, verdict, due }: Pending): FinishRequest {
  const outcome: FinishRequest['outcome'] =
    verdict.kind === 'retry'
      ? { kind: 'retry', due }
      : verdict.kind === 'dead'
        ? { kind: 'dead', death: verdict.death }
        : { kind: verdict.kind };
  return { ...run.ref, owed: run.delivery.owed, outcome };
}
