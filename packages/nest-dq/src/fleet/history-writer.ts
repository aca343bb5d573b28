import { NUMBERS, type Tally } from '../events/tally.js';
import { withinLimit } from '../time/call-limit.js';
import { addCounts, ALL_TUBES, hourOf, type History, type MinuteOfTube } from './history.js';
import type { Clock, Timer } from 'nest-handlers/time';

/** Interval. A minute is a multiple of it, so no interval spans two minutes. */
const INTERVAL_MS = 10_000;
/** Tubes with counts of their own per interval; further ones count only in the sum. */
const MAX_TUBES = 200;
/** Tube minutes queued while the ledger is away. Beyond that the oldest are dropped. */
const MAX_WAITING = 2_000;
/** Tube minutes per call. */
const TOGETHER = 100;
/** How long a close waits for the last counts to be written. */
const LAST_CALL_MS = 500;

/** Adds what this process counted to the shared history, every 10 s if it counted anything. */
export class HistoryWriter {
  private readonly waiting = new Map<string, MinuteOfTube>();
  private timer: Timer | undefined;
  private underWay: Promise<void> = Promise.resolve();
  private closed = false;

  constructor(
    private readonly tally: Tally,
    private readonly history: History,
    private readonly clock: Clock,
  ) {}

  start(): void {
    if (this.closed) return;
    this.timer = this.clock.after(INTERVAL_MS - (this.history.now() % INTERVAL_MS), () => {
      this.collect(this.history.now() - INTERVAL_MS / 2); // it may fire late
      this.start();
    });
  }

  /** Writes the rest, as far as that can be done quickly. Idempotent. */
  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    this.timer?.cancel();
    this.collect(this.history.now());
    await withinLimit(this.clock, LAST_CALL_MS, this.underWay).catch(() => undefined);
  }

  /** @param at A ledger time within the interval. */
  private collect(at: number): void {
    const minute = Math.floor(at / 60_000);
    const taken = this.tally.take();
    if (taken.size > 0) {
      const sum = Array.from({ length: NUMBERS }, () => 0);
      let left = MAX_TUBES;
      for (const [tube, counts] of taken) {
        addCounts(sum, counts);
        if (left-- > 0) this.keep({ minute, tube, counts });
      }
      this.keep({ minute, tube: ALL_TUBES, counts: sum });
    }
    this.underWay = this.underWay.then(() => this.write()).catch(() => undefined); // retried with the next
  }

  private keep({ minute, tube, counts }: MinuteOfTube): void {
    const name = `${minute} ${tube}`;
    const known = this.waiting.get(name);
    const sum = known ? [...known.counts] : [...counts];
    if (known) addCounts(sum, counts);
    this.waiting.set(name, { minute, tube, counts: sum });
    if (this.waiting.size <= MAX_WAITING) return;
    const [oldest] = this.waiting.keys();
    this.waiting.delete(oldest!);
  }

  private async write(): Promise<void> {
    while (this.waiting.size > 0) {
      const [first] = this.waiting.values();
      const hour = hourOf(first!.minute);
      const some: MinuteOfTube[] = [];
      for (const each of this.waiting.values())
        if (some.length < TOGETHER && hourOf(each.minute) === hour) some.push(each);
      // Removed only after writing; what was counted meanwhile belongs to another interval, and may have another sum.
      await this.history.add(some);
      for (const each of some) this.written(each);
    }
  }

  private written({ minute, tube, counts }: MinuteOfTube): void {
    const name = `${minute} ${tube}`;
    const now = this.waiting.get(name);
    if (!now) return;
    const rest = now.counts.map((count, i) => count - counts[i]!);
    if (rest.every((count) => count === 0)) this.waiting.delete(name);
    else this.waiting.set(name, { minute, tube, counts: rest });
  }
}
