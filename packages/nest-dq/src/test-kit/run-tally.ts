import type { ClaimAnswer, CompleteAnswer, CompleteRequest } from '../ledger/requests.js';
import type { Polls } from './polls.js';

/** The outcomes of the runs in a stretch of time. */
export interface RunCounts {
  /** Runs begun, retries too. */
  readonly started: number;
  /** Runs that went well, with `Again` too. */
  readonly completed: number;
  /** Runs that failed, whatever followed. */
  readonly failed: number;
  /** Jobs that became dead letters. */
  readonly dead: number;
}

const WENT_WELL: readonly CompleteRequest['outcome']['kind'][] = ['done', 'again', 'later'];
const NONE: RunCounts = { started: 0, completed: 0, failed: 0, dead: 0 };

/** Counts runs as the ledger hears of them, and knows which go on. */
export class RunTally {
  private counts = NONE;
  /** By tube, job and fence. True: the kit does not wait for it any more. */
  private readonly running = new Map<string, boolean>();
  private ended: () => void = () => undefined;

  constructor(private readonly polls: Polls) {}

  claimed(tube: string, id: string, answer: ClaimAnswer): void {
    if (answer.kind === 'stale' || (answer.kind === 'dead' && answer.fresh)) this.count('dead');
    if (answer.kind !== 'run') return;
    const run = nameOf(tube, id, answer.fence);
    if (this.running.has(run)) return; // the same claim, asked again
    this.running.set(run, false);
    this.polls.began(tube);
    this.count('started');
  }

  finished(tube: string, { id, fence, outcome }: CompleteRequest, answer: CompleteAnswer): void {
    if (!this.running.delete(nameOf(tube, id, fence))) return;
    this.polls.ended(tube);
    if (answer !== 'refused') {
      if (WENT_WELL.includes(outcome.kind)) this.count('completed');
      if (outcome.kind === 'retry' || outcome.kind === 'dead') this.count('failed');
      if (outcome.kind === 'dead' && answer === 'ok') this.count('dead');
    }
    this.ended();
  }

  /** Whether any run goes on. */
  get busy(): boolean {
    return this.running.size > 0;
  }

  /** Whether a run goes on that is still waited for. */
  get awaited(): boolean {
    for (const givenUp of this.running.values()) if (!givenUp) return true;
    return false;
  }

  /** Resolves when the next run ends. */
  nextEnd(): Promise<void> {
    return new Promise((resolve) => (this.ended = resolve));
  }

  /** The kit does not wait any more for the runs that go on now. */
  giveUp(): void {
    for (const run of this.running.keys()) this.running.set(run, true);
  }

  /** The counts since they were taken last. */
  take(): RunCounts {
    const { counts } = this;
    this.counts = NONE;
    return counts;
  }

  private count(what: keyof RunCounts): void {
    this.counts = { ...this.counts, [what]: this.counts[what] + 1 };
  }
}

function nameOf(tube: string, id: string, fence: number): string {
  return `${tube} ${id} ${fence}`;
}
