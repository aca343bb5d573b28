import type { Work } from 'nest-handlers/testing';
import type { ClaimAnswer, CompleteAnswer, CompleteRequest } from '../ledger/requests.js';

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

interface Run {
  readonly isPoll: boolean;
  /** The kit does not wait for it any more. */
  givenUp: boolean;
}

/**
 * Counts runs as the ledger hears of them, and knows which go on. It also knows which polls rest: tubes whose jobs only look
 * whether there is something to do. A poll rests once it has looked since anything else happened: its next looks would find
 * the same, so the time need not stop for them.
 */
export class RunTally implements Work {
  private counts = NONE;
  /** By tube, job and fence. */
  private readonly running = new Map<string, Run>();
  private ended: () => void = () => undefined;
  /** Tubes, by their names on the nodes. */
  private readonly polls = new Set<string>();
  /** Counts what happened: runs of other tubes that began or ended, and journeys. */
  private happened = 0;
  /** By poll: how much had happened at the last look. */
  private readonly looked = new Map<string, number>();

  /** @param nextChangeOf When the next job of these tubes changes its state by itself; -Infinity while one is held. */
  constructor(private readonly nextChangeOf: (ofTube: (name: string) => boolean) => number) {}

  /** By its name on the nodes. Idempotent. */
  addPoll(tube: string): void {
    this.polls.add(tube);
  }

  /** A journey begins: the test may have done anything before. */
  journey(): void {
    this.happened++;
  }

  claimed(tube: string, id: string, answer: ClaimAnswer): void {
    if (answer.kind === 'stale' || (answer.kind === 'dead' && answer.fresh)) this.count('dead');
    if (answer.kind !== 'run') return;
    const name = nameOf(tube, id, answer.fence);
    if (this.running.has(name)) return; // the same claim, asked again
    const isPoll = this.polls.has(tube);
    this.running.set(name, { isPoll, givenUp: false });
    if (isPoll) this.looked.set(tube, this.happened);
    else this.happened++;
    this.count('started');
  }

  finished(tube: string, { id, fence, outcome }: CompleteRequest, answer: CompleteAnswer): void {
    if (!this.running.delete(nameOf(tube, id, fence))) return;
    if (!this.polls.has(tube)) this.happened++;
    if (answer !== 'refused') {
      if (WENT_WELL.includes(outcome.kind)) this.count('completed');
      if (outcome.kind === 'retry' || outcome.kind === 'dead') this.count('failed');
      if (outcome.kind === 'dead' && answer === 'ok') this.count('dead');
    }
    this.ended();
  }

  get busy(): boolean {
    return this.running.size > 0;
  }

  /** A run goes on that is no poll's. */
  get works(): boolean {
    return this.runs.some(({ isPoll }) => !isPoll);
  }

  get awaited(): boolean {
    return this.runs.some(({ givenUp }) => !givenUp);
  }

  nextEnd(): Promise<void> {
    return new Promise((resolve) => (this.ended = resolve));
  }

  giveUp(): void {
    for (const run of this.running.values()) run.givenUp = true;
  }

  nextChange(): number {
    return this.nextChangeOf(() => true);
  }

  nextStop(): number {
    return this.nextChangeOf((tube) => !this.rests(tube));
  }

  private rests(tube: string): boolean {
    return this.looked.get(tube) === this.happened;
  }

  get anyRests(): boolean {
    return Array.from(this.looked.keys()).some((tube) => this.rests(tube));
  }

  /** The counts since they were taken last. */
  take(): RunCounts {
    const { counts } = this;
    this.counts = NONE;
    return counts;
  }

  private get runs(): Run[] {
    return [...this.running.values()];
  }

  private count(what: keyof RunCounts): void {
    this.counts = { ...this.counts, [what]: this.counts[what] + 1 };
  }
}

function nameOf(tube: string, id: string, fence: number): string {
  return `${tube} ${id} ${fence}`;
}
