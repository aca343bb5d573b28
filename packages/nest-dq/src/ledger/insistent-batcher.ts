import type { Clock, Timer } from 'nest-handlers/time';
import { Batcher, type Batches } from './batcher.js';
import type { TubeLedger } from './ledger.js';

/** Milliseconds. */
const AGAIN_AFTER = 500;
const SLOWLY_AGAIN_AFTER = 10_000;
const LARGEST = 1_000;

export interface InsistentBatches<Item, Answer> extends Pick<Batches<Item, Answer>, 'call'> {
  answered(item: Item, answer: Answer): void;
  /** The ledger answers, but fails at this very item. Told once for each. */
  trouble(item: Item, error: Error): void;
}

/**
 * A batcher that asks until the ledger answers; the ledger must know a repeat. An item at which the ledger fails is asked
 * about slowly.
 */
export class InsistentBatcher<Item, Answer> {
  private readonly batcher: Batcher<Item, Answer>;
  private unanswered: Item[] = [];
  /** Those that the ledger failed at. */
  private slow: Item[] = [];
  private readonly told = new Set<Item>();
  private again: Timer | undefined;
  private slowlyAgain: Timer | undefined;
  private closed = false;

  constructor(
    ledger: Pick<TubeLedger, 'away' | 'now'>,
    private readonly clock: Clock,
    private readonly batches: InsistentBatches<Item, Answer>,
  ) {
    this.batcher = new Batcher(ledger, clock, {
      largest: LARGEST,
      call: batches.call,
      answered: (items, answers) => this.answered(items, answers),
      unanswered: (items) => {
        this.unanswered.push(...items);
        if (!this.closed) this.again ??= clock.after(AGAIN_AFTER, () => this.flush());
      },
      failed: (item, error) => this.failed(item, error),
    });
  }

  /** Items without an answer. */
  get size(): number {
    return this.batcher.size + this.unanswered.length + this.slow.length;
  }

  add(item: Item): void {
    this.batcher.add(item);
  }

  /** Sends what waits, at once. */
  flush(): void {
    this.again?.cancel();
    this.again = undefined;
    for (const item of this.unanswered.splice(0)) this.batcher.add(item);
    this.batcher.flush();
  }

  /** Asks no more. Idempotent. */
  close(): void {
    this.closed = true;
    this.batcher.close();
    this.again?.cancel();
    this.slowlyAgain?.cancel();
  }

  private answered(items: readonly Item[], answers: readonly Answer[]): void {
    for (let i = 0; i < items.length; i++) {
      if (this.told.size > 0) this.told.delete(items[i]!);
      this.batches.answered(items[i]!, answers[i]!);
    }
  }

  private failed(item: Item, error: Error): void {
    this.slow.push(item);
    this.slowlyAgain ??= this.clock.after(SLOWLY_AGAIN_AFTER, () => {
      this.slowlyAgain = undefined;
      for (const each of this.slow.splice(0)) this.batcher.ask([each]);
    });
    if (this.told.has(item)) return;
    this.told.add(item);
    this.batches.trouble(item, error);
  }
}
