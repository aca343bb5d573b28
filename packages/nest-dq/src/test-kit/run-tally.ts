import type { Work } from 'nest-handlers/testing';
import type { ClaimAnswer, CompleteAnswer, CompleteRequest } from '../ledger/requests.js';

/** Outcomes of the runs during an advance. */
export interface RunCounts {
  /** Runs started, including retries. */
  readonly started: number;
  /** Runs that succeeded, including those that returned `Again`. */
  readonly completed: number;
  /** Runs that failed, whatever followed. */
  readonly failed: number;
  /** Jobs that became dead letters. */
  readonly dead: number;
  /** Jobs that expired and ended. */
  readonly expired: number;
}

const WENT_WELL: readonly CompleteRequest['outcome']['kind'][] = ['done', 'again', 'later'];
const NONE: RunCounts = { started: 0, completed: 0, failed: 0, dead: 0, expired: 0 };

interface Run {
  readonly isPoll: boolean;
  /** The kit no longer waits for it. */
  givenUp: boolean;
}

/**
 * Counts runs as the ledger sees them, and tracks those in progress. Also tracks which polls rest: tubes whose jobs only check
 * whether there is something to do. A poll rests once it has checked since anything else happened: its next checks would find the
 * same, so the time needn't stop for them.
 */
export class RunTally implements Work {
  private counts = NONE;
  /** By tube, job and fence. */
  private readonly running = new Map<string, Run>();
  private ended: () => void = () => undefined;
  /** Tubes, by their names on the nodes. */
  private readonly polls = new Set<string>();
  /** Counts events: runs of other tubes that started or ended, and advances. */
  private happened = 0;
  /** By poll: the count at its last check. */
  private readonly looked = new Map<string, number>();

  /** @param nextChangeOf Returns when the next job of these tubes changes state on its own; -Infinity while one is held. */
  constructor(private readonly nextChangeOf: (ofTube: (name: string) => boolean) => number) {}

  /** Adds a poll by its name on the nodes. Idempotent. */
  addPoll(tube: string): void {
    this.polls.add(tube);
  }

  /** An advance begins: the test may have done anything before. */
  journey(): void {
    this.happened++;
  }

  claimed(tube: string, id: string, answer: ClaimAnswer): void {
    if (answer.kind === 'stale' || (answer.kind === 'dead' && answer.fresh)) this.count('dead');
    if (answer.kind === 'expired') this.count(answer.letter ? 'dead' : 'expired');
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

  /** Whether a run of anything but a poll is in progress. */
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

  /** Returns the counts since the last call. */
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
