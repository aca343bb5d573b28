import { toError } from '../errors.js';
import type { Clock, Timer } from 'nest-handlers/time';
import type { TubeLedger } from './ledger.js';

/** How a batcher calls the ledger, and where the answers go. */
export interface Batches<Item, Answer> {
  /** Maximum items per call. */
  readonly largest: number;
  /** Maximum calls in flight. Items added meanwhile go with the next call. @default no limit */
  readonly mostCalls?: number;
  /** When waiting items are sent: after the current code (`next`), or once all input is read (`soon`). @default soon */
  readonly tick?: 'next' | 'soon';
  /** Retries a failed call one item at a time, so that no item is sent more than twice. @default halves the call */
  readonly alone?: boolean;
  /** `repeat`: the items were part of a failed call. */
  call(items: readonly Item[], repeat: boolean): Promise<readonly Answer[]>;
  answered(items: readonly Item[], answers: readonly Answer[], sent: Sent): void;
  /** The ledger is away, or the batcher was closed. */
  unanswered(items: readonly Item[], error: Error): void;
  /** The ledger answers, but fails on this item. */
  failed(item: Item, error: Error): void;
}

/** When a call was sent. */
export interface Sent {
  /** Clock time in ms. */
  readonly at: number;
  /** Ledger time in ms. */
  readonly ledgerTime: number;
}

/**
 * Batches calls to the ledger: one call for everything added in a turn of the event loop. A call that fails although the
 * ledger is there is split until the failing item is found, so that it holds up no other.
 */
export class Batcher<Item, Answer> {
  private readonly waiting: Item[] = [];
  /** Parts of failed calls. */
  private readonly parts: (readonly Item[])[] = [];
  private scheduled = false;
  private calls = 0;
  private unsettled = 0;
  protected closed = false;

  constructor(
    private readonly ledger: Pick<TubeLedger, 'away' | 'now'>,
    private readonly clock: Clock,
    private readonly batches: Batches<Item, Answer>,
  ) {}

  /** Items without an answer. */
  get size(): number {
    return this.waiting.length + this.unsettled;
  }

  add(item: Item): void {
    this.waiting.push(item);
    this.flushSoon();
  }

  /** Sends all waiting items at once. */
  flush(): void {
    this.sendWaiting();
  }

  private readonly sendWaiting = (): void => {
    this.scheduled = false;
    if (this.closed) return;
    const { largest, mostCalls = Infinity } = this.batches;
    while (this.calls < mostCalls) {
      const part = this.parts.shift();
      if (part) this.send(part, true);
      else if (this.waiting.length > 0) this.ask(this.waiting.splice(0, largest));
      else return;
    }
  };

  /** Sends these items at once, in one call. */
  ask(items: readonly Item[]): void {
    this.unsettled += items.length;
    this.send(items, false);
  }

  /** Sends nothing more. Idempotent. */
  close(): void {
    this.closed = true;
  }

  private flushSoon(): void {
    const { mostCalls = Infinity, tick = 'soon' } = this.batches;
    if (this.scheduled || this.calls >= mostCalls || this.closed) return;
    this.scheduled = true;
    this.clock[tick](this.sendWaiting);
  }

  private send(items: readonly Item[], repeat: boolean): void {
    const { batches } = this;
    const sent = { at: this.clock.now(), ledgerTime: this.ledger.now() };
    this.calls++;
    batches.call(items, repeat).then(
      (answers) => {
        this.settle(items);
        batches.answered(items, answers, sent);
      },
      (reason: unknown) => {
        const error = toError(reason);
        const over = this.closed || this.ledger.away;
        if (!over && items.length > 1) return this.split(items);
        this.settle(items);
        if (over) batches.unanswered(items, error);
        else batches.failed(items[0]!, error);
      },
    );
  }

  private settle({ length }: readonly Item[]): void {
    this.calls--;
    this.unsettled -= length;
    if (this.waiting.length + this.parts.length > 0) this.flushSoon();
  }

  private split(items: readonly Item[]): void {
    this.calls--;
    const middle = items.length >> 1;
    if (this.batches.alone) this.parts.push(...items.map((item) => [item]));
    else this.parts.push(items.slice(0, middle), items.slice(middle));
    this.flushSoon();
  }
}

const RETRY_AFTER_MS = 500;
const SLOW_RETRY_AFTER_MS = 10_000;
const LARGEST = 1_000;

export interface InsistentBatches<Item, Answer> extends Pick<Batches<Item, Answer>, 'call'> {
  answered(item: Item, answer: Answer): void;
  /** The ledger answers, but fails on this item. Called once per item. */
  trouble(item: Item, error: Error): void;
}

/**
 * A batcher that retries until the ledger answers, which must recognize a repeat. An item the ledger fails on is retried
 * slowly.
 */
export class RetryingBatcher<Item, Answer> extends Batcher<Item, Answer> {
  private unanswered: Item[] = [];
  /** Items the ledger failed on. */
  private slow: Item[] = [];
  private readonly reported = new Set<Item>();
  private again: Timer | undefined;
  private slowlyAgain: Timer | undefined;

  constructor(
    ledger: Pick<TubeLedger, 'away' | 'now'>,
    clock: Clock,
    batches: InsistentBatches<Item, Answer>,
  ) {
    super(ledger, clock, {
      largest: LARGEST,
      call: batches.call,
      answered: (items, answers) => {
        for (let i = 0; i < items.length; i++) {
          if (this.reported.size > 0) this.reported.delete(items[i]!);
          batches.answered(items[i]!, answers[i]!);
        }
      },
      unanswered: (items) => {
        this.unanswered.push(...items);
        if (!this.closed) this.again ??= clock.after(RETRY_AFTER_MS, () => this.flush());
      },
      failed: (item, error) => {
        this.slow.push(item);
        this.slowlyAgain ??= clock.after(SLOW_RETRY_AFTER_MS, () => this.askSlowly());
        if (this.reported.has(item)) return;
        this.reported.add(item);
        batches.trouble(item, error);
      },
    });
  }

  override get size(): number {
    return super.size + this.unanswered.length + this.slow.length;
  }

  override flush(): void {
    this.again?.cancel();
    this.again = undefined;
    for (const item of this.unanswered.splice(0)) this.add(item);
    super.flush();
  }

  override close(): void {
    super.close();
    this.again?.cancel();
    this.slowlyAgain?.cancel();
  }

  private askSlowly(): void {
    this.slowlyAgain = undefined;
    for (const each of this.slow.splice(0)) this.ask([each]);
  }
}
