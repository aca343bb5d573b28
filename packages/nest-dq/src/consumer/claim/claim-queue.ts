// ◆ marks a rule of docs/internals/delivery.md.
import { startByOf } from '../../copies/expiry.js';
import { ledgerGroup } from '../../copies/header.js';
import { type Clock, Heap, type Timer } from 'nest-handlers/time';
import { stagger } from '../../copies/timing.js';
import { Batcher } from '../../ledger/batcher.js';
import { permitOf } from '../../ledger/limits/limits.js';
import type { ClaimAnswer, ClaimRequest, SettledCopies } from '../../ledger/requests.js';
import type { Claim, Delivery } from '../reserve/delivery.js';
import type { TubeContext } from '../tube-context.js';
import type { TubeLedger } from '../../ledger/ledger.js';
import { WakeTimer } from '../../time/wake-timer.js';

/** A due copy that has waited this long for a slot may be released to other processes. */
const MAX_WAIT_MS = 250;
const SURPLUS_CHECK_MS = 100;
/** Pause after a call that got no answer. */
const RETRY_AFTER_MS = 500;
/** Release delay of a copy whose claim makes the ledger fail. */
const FAILED_CLAIM_DELAY_S = 10;
const MAX_ATTEMPTS = 2 ** 31 - 1;
const NOTHING_SETTLED: readonly SettledCopies[] = [];
/**
 * Max claims per call. With several calls in flight, the ledger works on one while this process runs the jobs granted by another,
 * and no call blocks the ledger for long.
 */
export const MAX_CLAIMED = 128;

/** Holds the copies that aren't claimed yet: early ones, and due ones that wait for a slot. Claims due copies while slots are free. */
export class ClaimQueue {
  protected readonly waiting = new Heap<Delivery>((a, b) => a.priority < b.priority);
  /** Copies that surfaced before they were due. */
  private readonly surfaced: DueBuffer;
  /** Copies that have been claimed before and will be claimed again. */
  private readonly postponed: DueBuffer;
  protected readonly batcher: Batcher<Delivery, ClaimAnswer>;
  protected pause: Timer | undefined;
  private surplusTimer: Timer | undefined;

  constructor(protected readonly context: TubeContext) {
    const { ledger, clock, budget, settleQueue, storedAs, gate, life } = context;
    this.surfaced = new DueBuffer(clock, ledger, this);
    this.postponed = new DueBuffer(clock, ledger, this);
    this.batcher = new Batcher(ledger, clock, {
      largest: MAX_CLAIMED,
      call: (batch, repeat) => {
        const settled = repeat ? NOTHING_SETTLED : settleQueue.take(storedAs);
        const requests = batch.map((delivery) => this.requestOf(delivery));
        const { limits } = context.handling;
        return ledger.claim(requests, { settled, sparedFrom: gate.sparedFrom, limits });
      },
      answered: (batch, answers, sent) => {
        for (let i = 0; i < batch.length; i++) endWait(batch[i]!, { answer: answers[i]!, sent });
      },
      unanswered: (batch) => {
        budget.claiming -= batch.length;
        this.askLater(batch);
        life.changed();
      },
      failed: (delivery, error) => {
        budget.claiming--;
        const { id, index } = delivery.header;
        letGo(delivery, FAILED_CLAIM_DELAY_S + stagger(index, context.backupDelay));
        context.report.ledgerTrouble(context.tube, id, error);
        life.changed();
      },
    });
  }

  /** Free slots for which no due copy is waiting. */
  get spare(): number {
    return this.context.budget.free - this.waiting.size;
  }

  /** Number of due copies that wait for a slot. */
  get due(): number {
    return this.waiting.size;
  }

  /** Number of copies that surfaced early and wait until they are due. */
  get early(): number {
    return this.surfaced.size;
  }

  /** Number of copies held here. */
  get size(): number {
    return this.surfaced.size + this.postponed.size + this.waiting.size;
  }

  /**
   * Holds a copy until it is `due` (ledger time) and a slot is free, then claims it. The caller then owns the slot. Resolves with
   * undefined if the copy was released, or its node has taken it back.
   */
  claim(delivery: Delivery, due: number): Promise<Claim | undefined> {
    return new Promise((resolve) => {
      delivery.endWait = resolve;
      if (due <= this.context.ledger.now()) return this.add([delivery]);
      delivery.due = due;
      (delivery.wasClaimed ? this.postponed : this.surfaced).add(delivery);
    });
  }

  /** Whether the copy is held here to be claimed again. */
  isPostponed(delivery: Delivery): boolean {
    return this.postponed.has(delivery);
  }

  /** Claims a postponed copy as soon as a slot is free. */
  hasten(delivery: Delivery): void {
    this.postponed.remove(delivery);
    this.add([delivery]);
  }

  /** Drops a copy that its node has taken back. A claim in flight is not affected. */
  lost(delivery: Delivery): void {
    for (const held of [this.surfaced, this.postponed, this.waiting]) {
      if (!held.has(delivery)) continue;
      held.remove(delivery);
      endWait(delivery, undefined);
    }
  }

  /** Releases all copies immediately. */
  releaseAll(): void {
    for (const held of [this.surfaced, this.postponed, this.waiting])
      for (const delivery of held.takeAll()) letGo(delivery, 0);
  }

  /** Claims as many copies as there are free slots. */
  advance(): void {
    const { budget } = this.context;
    while (!this.pause && budget.free > 0 && this.waiting.size > 0) {
      const batch = this.next(Math.min(budget.free, MAX_CLAIMED));
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

  /** Takes the first copies, skipping those whose job is running in this process. */
  protected next(most: number): Delivery[] {
    const { clock, runs } = this.context;
    const batch: Delivery[] = [];
    for (let next = this.waiting.peek(); next && batch.length < most; next = this.waiting.peek()) {
      this.waiting.remove(next);
      const { id, generation, index } = next.header;
      const run = runs.get(id);
      const isYoung = run !== undefined && (run.startedAt === 0 || clock.now() - run.startedAt < YOUNG_RUN);
      if (run?.delivery.header.generation !== generation) {
        next.wasClaimed = true;
        batch.push(next);
      } else if (next.header.foreign || isYoung) {
        next.due = this.context.ledger.now() + LOOK_AGAIN;
        this.postponed.add(next);
      } else {
        letGo(next, leasePause(index, this.context));
      }
    }
    return batch;
  }

  private requestOf(delivery: Delivery): ClaimRequest {
    const { header, token } = delivery;
    const { id, generation, born, due, attempts, foreign } = header;
    const { handling } = this.context;
    const startBy = foreign ? undefined : startByOf(header, handling.expireAfter);
    return {
      id,
      generation,
      born,
      due,
      token,
      // A job in another program's format is adopted, however many attempts that takes.
      attempts: foreign ? MAX_ATTEMPTS : (attempts ?? handling.attempts),
      timeout: handling.timeout,
      permit: (delivery.permit = handling.limits && permitOf(handling.limits, ledgerGroup(header))),
      expiry:
        startBy === undefined
          ? undefined
          : { startBy, letter: handling.keepsExpired === true, owed: delivery.owed },
    };
  }

  /** Called when the outcome of claims is unknown: unless they are released first, the copies are claimed again with the same token. */
  protected askLater(batch: readonly Delivery[]): void {
    for (const delivery of batch) {
      if (delivery.held) this.waiting.add(delivery);
      else endWait(delivery, undefined);
    }
    this.pause ??= this.context.clock.after(RETRY_AFTER_MS, () => {
      this.pause = undefined;
      this.context.life.changed();
    });
  }

  /** Adds due copies. */
  add(deliveries: readonly Delivery[]): void {
    for (const delivery of deliveries) {
      delivery.waitingSince = this.context.clock.now();
      this.waiting.add(delivery);
    }
    this.armSurplus();
    this.context.life.changed();
  }

  private armSurplus(): void {
    this.surplusTimer ??= this.context.clock.after(SURPLUS_CHECK_MS, () => {
      this.surplusTimer = undefined;
      this.releaseSurplus(this.context.budget.within(MAX_WAIT_MS));
      if (this.waiting.size > 0) this.armSurplus();
      this.context.life.changed();
    });
  }

  /** Releases copies that have waited too long, except the first `most`. */
  private releaseSurplus(most: number): void {
    if (this.waiting.size <= most) return;
    const before = this.context.clock.now() - MAX_WAIT_MS;
    this.waiting.takeAll().forEach((delivery, position) => {
      if (position < most || delivery.waitingSince >= before) this.waiting.add(delivery);
      else letGo(delivery, 0);
    });
  }
}

/** Releases an unclaimed copy to any process, after `delay` whole seconds. */
function letGo(delivery: Delivery, delay: number): void {
  delivery.release(delay);
  endWait(delivery, undefined);
}

function endWait(delivery: Delivery, claim: Claim | undefined): void {
  const { endWait } = delivery;
  delivery.endWait = undefined;
  endWait?.(claim);
}

/** Max duration of a timer, because ledger time and the timer's clock drift apart. */
const MAX_TIMER_MS = 1_000;

/**
 * Holds early copies until they are claimed. While slots are free, a copy is claimed as early as the ledger allows (`ahead`), so
 * that the answer has arrived by its due time and one call claims several copies. Otherwise it is claimed when due. A single
 * timer waits for the earliest copy; polling would cost 5 % of a core.
 */
export class DueBuffer {
  private readonly heap = new Heap<Delivery>((a, b) => a.due < b.due);
  private readonly timer: WakeTimer;

  constructor(
    clock: Clock,
    private readonly ledger: Pick<TubeLedger, 'now' | 'ahead'>,
    private readonly queue: Pick<ClaimQueue, 'spare' | 'add'>,
  ) {
    this.timer = new WakeTimer(clock, () => this.wake());
  }

  get size(): number {
    return this.heap.size;
  }

  add(delivery: Delivery): void {
    delivery.fold();
    this.heap.add(delivery);
    if (this.heap.peek() === delivery) this.arm();
  }

  has(delivery: Delivery): boolean {
    return this.heap.has(delivery);
  }

  /** Does nothing if the copy isn't held here. */
  remove(delivery: Delivery): void {
    this.heap.remove(delivery);
  }

  /** Removes and returns all copies. */
  takeAll(): Delivery[] {
    this.timer.cancel();
    return this.heap.takeAll();
  }

  private arm(): void {
    const first = this.heap.peek();
    if (!first) return;
    const { ledger } = this;
    const ahead = this.queue.spare > 0 ? ledger.ahead / 2 : 0;
    this.timer.within(Math.min(MAX_TIMER_MS, Math.max(0, first.due - ahead - ledger.now())));
  }

  private wake(): void {
    const { ledger, queue } = this;
    const now = ledger.now();
    const { spare } = queue;
    const due: Delivery[] = [];
    for (let next = this.heap.peek(); next; next = this.heap.peek()) {
      if (next.due > (due.length < spare ? now + ledger.ahead : now)) break;
      this.heap.remove(next);
      due.push(next);
    }
    if (due.length > 0) queue.add(due);
    this.arm(); // needed too if the timer fired early
  }
}

/** Min interval between claims of a long run's backups. */
const MAX_BACKUP_PAUSE_S = 60;

type Timing = Pick<TubeContext, 'backupDelay' | 'lease'>;

/**
 * How long, in ms, a copy is held before it is claimed again if a run of its job will end soon, so that it is deleted soon after
 * the job. If the ledger then loses everything, few copies are left of jobs that have run. The run of a job in another program's
 * format only adopts the job, so it always ends soon.
 */
export const LOOK_AGAIN = 100;

/**
 * Age, in ms, below which a run will probably end soon, as most do. Other copies of its job are then held: if released for the
 * rest of the lease, they would outlive the job.
 */
export const YOUNG_RUN = 1_000;

/** Returns for how many seconds copy `index` is released while a run of its job, in any process, has the lease. */
export function leasePause(index: number, { lease, backupDelay }: Timing): number {
  return Math.ceil(lease / 1000) + stagger(index, backupDelay);
}

/** Returns for how many seconds copy `index` is released if its job runs elsewhere. */
export function busyPause(
  index: number,
  { ms, ranFor }: Extract<ClaimAnswer, { kind: 'busy' }>,
  { backupDelay }: Pick<Timing, 'backupDelay'>,
): number {
  // Never without a delay ◆, or the copy would come back as fast as it is released.
  const pause = Math.max(1, Math.ceil(ms / 1000)) + stagger(index, backupDelay);
  return index === 0 ? pause : Math.min(MAX_BACKUP_PAUSE_S, Math.max(pause, Math.ceil(ranFor / 1000)));
}
