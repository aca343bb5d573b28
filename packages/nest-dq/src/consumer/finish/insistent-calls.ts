import { toError } from '../../errors.js';
import type { TubeLedger } from '../../ledger/ledger.js';
import type { Clock, Timer } from '../../time/clock.js';

const BATCH = 1_000;
/** Milliseconds. */
const AGAIN_AFTER = 500;
const SLOWLY_AGAIN_AFTER = 10_000;

export interface InsistentEvents<Item, Answer> {
  answered(item: Item, answer: Answer): void;
  /** The ledger answers, but failed at this very item. Told once for each. */
  trouble(item: Item, error: Error): void;
}

/**
 * Asks the ledger until it answers, with one call for all that is asked in a turn; the ledger must know a repeat.
 * A call that fails although the ledger is there is halved until it is clear over which job: that one is asked about
 * slowly, and holds up no other.
 */
export class InsistentCalls<Item, Answer> {
  private pending: Item[] = [];
  /** Failed by themselves, and wait. */
  private slow: Item[] = [];
  /** Failed by themselves, and told of. */
  private readonly told = new Set<Item>();
  private inFlight = 0;
  private scheduled = false;
  private again: Timer | undefined;
  private slowlyAgain: Timer | undefined;
  private closed = false;

  constructor(
    protected readonly ledger: TubeLedger,
    private readonly clock: Clock,
    private readonly call: (items: readonly Item[]) => Promise<readonly Answer[]>,
    private readonly events: InsistentEvents<Item, Answer>,
  ) {}

  /** What has no answer yet. */
  get size(): number {
    return this.pending.length + this.inFlight + this.slow.length;
  }

  add(item: Item): void {
    this.pending.push(item);
    if (this.scheduled) return;
    this.scheduled = true;
    this.clock.soon(() => this.flush());
  }

  /** Sends what waits, at once. */
  flush(): void {
    this.scheduled = false;
    this.again?.cancel();
    this.again = undefined;
    if (this.closed) return;
    while (this.pending.length > 0) this.send(this.pending.splice(0, BATCH));
  }

  /** Asks no more. Idempotent. */
  close(): void {
    this.closed = true;
    this.again?.cancel();
    this.slowlyAgain?.cancel();
  }

  private send(batch: readonly Item[]): void {
    this.inFlight += batch.length;
    this.call(batch).then(
      (answers) => {
        this.inFlight -= batch.length;
        answers.forEach((answer, i) => {
          const item = batch[i]!;
          if (this.told.size > 0) this.told.delete(item);
          this.events.answered(item, answer);
        });
      },
      (error: unknown) => {
        this.inFlight -= batch.length;
        this.failed(batch, error);
      },
    );
  }

  private failed(batch: readonly Item[], error: unknown): void {
    if (this.closed || this.ledger.away) {
      this.pending.push(...batch);
      if (!this.closed) this.again ??= this.clock.after(AGAIN_AFTER, () => this.flush());
    } else if (batch.length > 1) {
      for (const half of halves(batch)) this.send(half);
    } else {
      this.failedAt(batch[0]!, toError(error));
    }
  }

  private failedAt(item: Item, error: Error): void {
    this.slow.push(item);
    this.slowlyAgain ??= this.clock.after(SLOWLY_AGAIN_AFTER, () => this.sendSlow());
    if (this.told.has(item)) return;
    this.told.add(item);
    this.events.trouble(item, error);
  }

  private sendSlow(): void {
    this.slowlyAgain = undefined;
    for (const item of this.slow.splice(0)) this.send([item]);
  }
}

/** Of two items or more. */
export function halves<T>(items: readonly T[]): [T[], T[]] {
  const middle = items.length >> 1;
  return [items.slice(0, middle), items.slice(middle)];
}
