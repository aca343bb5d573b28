import { ledgerGroup } from '../../copies/header.js';
import { Heap, type Timer } from 'nest-handlers/time';
import { stagger } from '../../copies/timing.js';
import { Batcher, type Sent } from '../../ledger/batcher.js';
import { permitOf } from '../../ledger/limits.js';
import type { ClaimAnswer, ClaimRequest, SettledCopies } from '../../ledger/requests.js';
import type { Delivery } from '../reserve/delivery.js';
import type { TubeContext } from '../tube-context.js';
import { DueBuffer } from './due-buffer.js';
import { leasePause, LOOK_AGAIN, YOUNG_RUN } from './pauses.js';

/** Milliseconds. A due copy that waits longer than this without a slot may be released to other processes. */
const PATIENCE = 250;
/** Milliseconds. */
const SURPLUS_EVERY = 100;
/** Milliseconds between a call without an answer and the next call. */
const ASK_AGAIN_AFTER = 500;
/** Seconds. The release delay of a copy whose claim makes the ledger fail. */
const TROUBLE_PAUSE = 10;
const MOST_ATTEMPTS = 2 ** 31 - 1;
const NOTHING_SETTLED: readonly SettledCopies[] = [];
/**
 * Claims per call. With several calls under way, the ledger works on one while this process runs what another granted. And
 * no call blocks the ledger for long.
 */
const MOST_CLAIMED = 128;

/** The held copies that are not claimed yet: those with a time to come, and due ones without a slot. Claims due ones while slots are free. */
export class ClaimQueue {
  private readonly waiting = new Heap<Delivery>((a, b) => a.priority < b.priority);
  /** Those that surfaced before their time. */
  private readonly surfaced: DueBuffer;
  /** Those that are to be claimed later, or again: they were asked for before. */
  private readonly postponed: DueBuffer;
  private readonly batcher: Batcher<Delivery, ClaimAnswer>;
  private pause: Timer | undefined;
  private surplusTimer: Timer | undefined;

  constructor(
    private readonly context: TubeContext,
    claimed: (delivery: Delivery, answer: ClaimAnswer, sent: Sent) => void,
    /** There is something to claim, or a call was answered, or failed. */
    private readonly changed: () => void,
  ) {
    const { ledger, clock, budget, settleQueue, storedAs, gate, handling } = context;
    const spare = () => budget.free - this.waiting.size;
    const onDue = (due: Delivery[]) => this.addAll(due);
    this.surfaced = new DueBuffer(clock, ledger, spare, onDue);
    this.postponed = new DueBuffer(clock, ledger, spare, onDue);
    this.batcher = new Batcher(ledger, clock, {
      largest: MOST_CLAIMED,
      call: (batch, repeat) => {
        const settled = repeat ? NOTHING_SETTLED : settleQueue.take(storedAs);
        const requests = batch.map((delivery) => this.requestOf(delivery));
        return ledger.claim(requests, { settled, sparedFrom: gate.sparedFrom, limits: handling.limits });
      },
      answered: (batch, answers, sent) => {
        budget.claiming -= batch.length;
        for (let i = 0; i < batch.length; i++) claimed(batch[i]!, answers[i]!, sent);
        changed();
      },
      unanswered: (batch) => {
        budget.claiming -= batch.length;
        this.askLater(batch);
        changed();
      },
      failed: (delivery, error) => {
        budget.claiming--;
        const { id, index } = delivery.header;
        delivery.release(TROUBLE_PAUSE + stagger(index, context.backupDelay));
        context.report.ledgerTrouble(context.tube, id, error);
        changed();
      },
    });
  }

  /** How many are due without a slot. */
  get due(): number {
    return this.waiting.size;
  }

  /** How many surfaced before their time and wait for it. */
  get early(): number {
    return this.surfaced.size;
  }

  /** How many are not claimed. */
  get size(): number {
    return this.surfaced.size + this.postponed.size + this.waiting.size;
  }

  /** Holds a copy that has surfaced early. */
  hold(delivery: Delivery): void {
    this.surfaced.add(delivery);
  }

  /** Holds a copy until `due`, ledger time. */
  postpone(delivery: Delivery, due: number): void {
    delivery.due = due;
    this.postponed.add(delivery);
  }

  /** Holds a copy for so many ms. */
  postponeFor(delivery: Delivery, ms: number): void {
    this.postpone(delivery, this.context.ledger.now() + ms);
  }

  isPostponed(delivery: Delivery): boolean {
    return this.postponed.has(delivery);
  }

  /** Copies that are due. */
  addAll(deliveries: readonly Delivery[]): void {
    for (const delivery of deliveries) {
      delivery.waitingSince = this.context.clock.now();
      this.waiting.add(delivery);
    }
    this.armSurplus();
    this.changed();
  }

  /** Does nothing when the copy is not in it. */
  remove(delivery: Delivery): void {
    this.surfaced.remove(delivery);
    this.postponed.remove(delivery);
    this.waiting.remove(delivery);
  }

  /** Releases all copies at once. */
  releaseAll(): void {
    for (const held of [this.surfaced, this.postponed, this.waiting])
      for (const delivery of held.takeAll()) delivery.release(0);
  }

  /** Claims as many copies as there are free slots. */
  claim(): void {
    const { budget } = this.context;
    while (!this.pause && budget.free > 0 && this.waiting.size > 0) {
      const batch = this.next(Math.min(budget.free, MOST_CLAIMED));
      if (batch.length === 0) return;
      budget.claiming += batch.length;
      this.batcher.ask(batch);
    }
  }

  /** Claims no more. */
  close(): void {
    this.batcher.close();
    this.pause?.cancel();
    this.surplusTimer?.cancel();
  }

  /** Takes the first copies, but for those whose job this process runs. */
  private next(most: number): Delivery[] {
    const { clock, runs } = this.context;
    const batch: Delivery[] = [];
    for (let next = this.waiting.peek(); next && batch.length < most; next = this.waiting.peek()) {
      this.waiting.remove(next);
      const { id, generation, index } = next.header;
      const run = runs.get(id);
      const isYoung = run !== undefined && (run.startedAt === 0 || clock.now() - run.startedAt < YOUNG_RUN);
      if (run?.delivery.header.generation !== generation) batch.push(next);
      else if (next.header.wire || isYoung) this.postponeFor(next, LOOK_AGAIN);
      else next.release(leasePause(index, this.context));
    }
    return batch;
  }

  private requestOf({ header, token }: Delivery): ClaimRequest {
    const { id, generation, born, due, attempts, wire } = header;
    const { handling } = this.context;
    return {
      id,
      generation,
      born,
      due,
      token,
      // What go-queue stored is adopted, however long that takes.
      attempts: wire ? MOST_ATTEMPTS : (attempts ?? handling.attempts),
      timeout: handling.timeout,
      permit: permitOf(handling.limits, ledgerGroup(header)),
    };
  }

  /** The outcome is unknown: the copies are claimed again with the same token, unless they are released before. */
  private askLater(batch: readonly Delivery[]): void {
    for (const delivery of batch) if (delivery.held) this.waiting.add(delivery);
    this.pause ??= this.context.clock.after(ASK_AGAIN_AFTER, () => {
      this.pause = undefined;
      this.changed();
    });
  }

  private armSurplus(): void {
    this.surplusTimer ??= this.context.clock.after(SURPLUS_EVERY, () => {
      this.surplusTimer = undefined;
      this.releaseSurplus(this.context.budget.within(PATIENCE));
      if (this.waiting.size > 0) this.armSurplus();
      this.changed();
    });
  }

  /** Releases the copies behind the first `most` that have waited too long. */
  private releaseSurplus(most: number): void {
    if (this.waiting.size <= most) return;
    const before = this.context.clock.now() - PATIENCE;
    this.waiting.takeAll().forEach((delivery, position) => {
      if (position < most || delivery.waitingSince >= before) this.waiting.add(delivery);
      else delivery.release(0);
    });
  }
}
