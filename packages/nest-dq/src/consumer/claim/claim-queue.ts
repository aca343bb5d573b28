import { copyDelay, stagger } from '../../copies/timing.js';
import { toError } from '../../errors.js';
import { Heap } from '../../structures/heap.js';
import type { TubeLedger } from '../../ledger/ledger.js';
import type { ClaimAnswer, SettledCopies } from '../../ledger/requests.js';
import type { SettleQueue } from '../../ledger/settle-queue.js';
import type { Clock, Timer } from '../../time/clock.js';
import type { Delivery } from '../reserve/delivery.js';
import { halves } from '../finish/insistent-calls.js';
import type { Grant } from '../run/run.js';
import { Start, Starts } from '../run/start-scheduler.js';

/** Milliseconds. What is due and waits for longer than this without a slot may go to another process. */
export const PATIENCE = 250;
/** Seconds. A long run's backups ask no oftener than this. */
const LONGEST_BACKUP_PAUSE = 60;
/** Milliseconds between a call without an answer and the next. */
const ASK_AGAIN_AFTER = 500;
/** Milliseconds. A claim whose answer comes this much before the lease's end is not used. */
const LEASE_RESERVE = 1_000;
/** Seconds. How long a copy goes whose claim the ledger fails at. */
const TROUBLE_PAUSE = 10;
const NOTHING_SETTLED: readonly SettledCopies[] = [];
/**
 * Claims of one call. With several calls under way the ledger works on one while we run what another granted; and no call
 * keeps the ledger from others for long.
 */
const MOST_CLAIMED = 128;

/** What a claim may lead to, besides letting go of the copy. */
export interface ClaimTaker {
  freeSlots(): number;
  /** Leases that ended at this ledger time or later are spared; undefined: none is. */
  readonly sparedFrom: number | undefined;
  /** Whether this process runs the generation of the copy. */
  ours(delivery: Delivery): boolean;
  run(delivery: Delivery, grant: Grant, claimedAt: number): void;
  /** Granted, but not to be run any more. */
  giveBack(delivery: Delivery, grant: Grant, claimedAt: number): void;
  /** Early by the ledger: hold it until its `due`. */
  early(delivery: Delivery): void;
  /** Done, revoked or replaced. */
  gone(delivery: Delivery): void;
  /** The copy of a dead job was buried; `why` where this claim found it dead. */
  buried(delivery: Delivery, why?: 'attempts' | 'stale'): void;
  /** The ledger answers, but failed at this very claim. */
  trouble(delivery: Delivery, error: Error): void;
  /** A call was answered, or failed: slots may be free again. */
  answered(): void;
}

export interface ClaimSettings {
  readonly tube: string;
  /** Milliseconds. */
  readonly backupDelay: number;
  /** Milliseconds. */
  readonly lease: number;
  /** Runs at most, where the job does not say. */
  readonly attempts: number;
  /** Milliseconds a handler has. */
  readonly timeout?: number;
}

/** What is due and waits for a slot, and the claims of it: one call to the ledger for all that have a slot in a turn. */
export class Claims {
  private readonly waiting = new Heap<Delivery>((a, b) => a.priority < b.priority);
  private claiming = 0;
  private readonly starts: Starts;
  private pause: Timer | undefined;
  private closed = false;

  constructor(
    private readonly ledger: TubeLedger,
    private readonly settleQueue: SettleQueue,
    private readonly clock: Clock,
    private readonly settings: ClaimSettings,
    private readonly taker: ClaimTaker,
  ) {
    this.starts = new Starts(clock, ledger, (start) => this.begin(start));
  }

  /** How many are due without a slot. */
  get size(): number {
    return this.waiting.size;
  }

  /** Slots that are taken by claims without an answer, and by runs that were granted ahead of their time. */
  get pending(): number {
    return this.claiming + this.starts.size;
  }

  add(delivery: Delivery): void {
    delivery.waitingSince = this.clock.now();
    this.waiting.add(delivery);
  }

  /** Does nothing with what is not here. */
  remove(delivery: Delivery): void {
    this.waiting.remove(delivery);
  }

  /** Empties the waiting list. */
  takeAll(): Delivery[] {
    return this.waiting.takeAll();
  }

  /** Claims as many as there are slots. */
  claim(): void {
    if (this.pause) return;
    for (let free = this.taker.freeSlots(); free > 0 && this.waiting.size > 0; free -= MOST_CLAIMED) {
      const batch = this.next(Math.min(free, MOST_CLAIMED));
      if (batch.length > 0) this.ask(batch, this.settleQueue.take(this.settings.tube));
    }
  }

  /** No more questions. */
  close(): void {
    this.closed = true;
    this.pause?.cancel();
    this.starts.close();
  }

  /** Lets a copy go for as long as the run of its job has, wherever that is. */
  letRunEnd(delivery: Delivery): void {
    const { lease, backupDelay } = this.settings;
    delivery.release(Math.ceil(lease / 1000) + stagger(delivery.header.index, backupDelay));
  }

  /** Keeps a copy for a later time, `due` by the ledger: in hand if it is a primary and that is soon, else on its node. */
  keepUntil(delivery: Delivery, due: number): void {
    const delay = copyDelay(delivery.header.index, due - this.ledger.now(), this.settings.backupDelay);
    // Released for no time it would be back at once, and again, until its time has come.
    if (delay > 0) return delivery.release(delay);
    delivery.due = due;
    if (delivery.held) this.taker.early(delivery);
  }

  /** Gives to others what has waited too long beyond the first `keep`. */
  releaseSurplus(keep: number): void {
    if (this.waiting.size <= keep) return;
    const before = this.clock.now() - PATIENCE;
    this.takeAll().forEach((delivery, position) => {
      if (position < keep || delivery.waitingSince >= before) this.waiting.add(delivery);
      else delivery.release(0);
    });
  }

  /** Takes the first ones, but for copies of jobs that this process runs. */
  private next(most: number): Delivery[] {
    const batch: Delivery[] = [];
    for (let next = this.waiting.peek(); next && batch.length < most; next = this.waiting.peek()) {
      this.waiting.remove(next);
      if (this.taker.ours(next)) this.letRunEnd(next);
      else batch.push(next);
    }
    return batch;
  }

  private ask(batch: readonly Delivery[], settled: readonly SettledCopies[]): void {
    const sentAt = this.clock.now();
    const claimedAt = this.ledger.now();
    this.claiming += batch.length;
    const requests = batch.map((delivery) => {
      const { id, generation, born, due, attempts } = delivery.header;
      return {
        id,
        generation,
        born,
        due,
        token: delivery.token,
        attempts: attempts ?? this.settings.attempts,
        timeout: this.settings.timeout,
      };
    });
    this.ledger.claim(requests, settled, this.taker.sparedFrom).then(
      (answers) => {
        this.claiming -= batch.length;
        const usableUntil = sentAt + this.settings.lease - LEASE_RESERVE;
        answers.forEach((answer, i) => this.act(batch[i]!, answer, claimedAt, usableUntil));
        this.taker.answered();
      },
      (error: unknown) => {
        this.claiming -= batch.length;
        this.failed(batch, error);
        this.taker.answered();
      },
    );
  }

  private failed(batch: readonly Delivery[], error: unknown): void {
    if (this.ledger.away || this.closed) {
      // Unknown, not failed: asked again with the same token once the ledger answers, unless they are released before.
      for (const delivery of batch) if (delivery.held) this.waiting.add(delivery);
      this.pause ??= this.clock.after(ASK_AGAIN_AFTER, () => {
        this.pause = undefined;
        this.taker.answered();
      });
    } else if (batch.length > 1) {
      for (const half of halves(batch)) this.ask(half, NOTHING_SETTLED); // that job holds up no other
    } else {
      const [delivery] = batch as [Delivery];
      delivery.release(TROUBLE_PAUSE + stagger(delivery.header.index, this.settings.backupDelay));
      this.taker.trouble(delivery, toError(error));
    }
  }

  private begin({ delivery, grant, claimedAt, usableUntil }: Start): void {
    // Somebody else may have the job by now ◆: the handlers of the batch before this one may have blocked, too.
    if (this.clock.now() > usableUntil) this.taker.giveBack(delivery, grant, claimedAt);
    else this.taker.run(delivery, grant, claimedAt);
  }

  private act(delivery: Delivery, answer: ClaimAnswer, claimedAt: number, usableUntil: number): void {
    const ownStagger = stagger(delivery.header.index, this.settings.backupDelay);
    switch (answer.kind) {
      case 'run':
        return this.starts.add(new Start(delivery, answer, claimedAt, usableUntil));
      case 'wait':
        return this.keepUntil(delivery, this.ledger.now() + answer.ms);
      case 'busy': {
        // Never at once ◆, or the copy would come back as fast as it is let go.
        const pause = Math.max(1, Math.ceil(answer.ms / 1000)) + ownStagger;
        const ranFor = Math.ceil(answer.ranFor / 1000);
        return delivery.release(
          delivery.primary ? pause : Math.min(LONGEST_BACKUP_PAUSE, Math.max(pause, ranFor)),
        );
      }
      case 'gone':
        return this.taker.gone(delivery);
      case 'dead':
        delivery.bury();
        return this.taker.buried(delivery, answer.fresh ? 'attempts' : undefined);
      case 'stale':
        delivery.bury();
        return this.taker.buried(delivery, 'stale');
    }
  }
}
