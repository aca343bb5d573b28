import { ClaimQueue, MAX_CLAIMED } from '../claim/claim-queue.js';
import type { Claim, Delivery } from '../reserve/delivery.js';
import type { TubeContext } from '../tube-context.js';
import { WakeTimer } from '../../time/wake-timer.js';
import type { Batches } from './batches.js';

/**
 * Claims copies in batches: once there are enough of them, or the first one has waited for long enough. Until then none has a
 * lease, so a job can be revoked, moved or expire, and a stop just releases its copy.
 */
export class BatchQueue extends ClaimQueue {
  private readonly timer: WakeTimer;

  constructor(
    context: TubeContext,
    private readonly batches: Batches,
  ) {
    super(context);
    this.timer = new WakeTimer(context.clock, () => context.life.changed());
  }

  /** None, so that no copy counts as part of a batch ahead of its time. */
  override get spare(): number {
    return 0;
  }

  override async claim(delivery: Delivery, due: number): Promise<Claim | undefined> {
    const claim = await super.claim(delivery, due);
    if (claim?.answer.kind !== 'run') this.batches.left(delivery);
    return claim;
  }

  /** Claims as many batches as there are complete ones and free slots. */
  override advance(): void {
    const { budget } = this.context;
    const { size } = this.batches.settings;
    while (!this.pause && budget.free > 0 && this.waiting.size > 0) {
      const left = this.waiting.size < size ? this.timeLeft() : 0;
      if (left > 0) return this.timer.within(left);
      const members = this.next(Math.min(budget.free, size));
      if (members.length === 0) return;
      this.batches.open(members);
      budget.claiming += members.length;
      for (let i = 0; i < members.length; i += MAX_CLAIMED)
        this.batcher.ask(members.slice(i, i + MAX_CLAIMED));
    }
  }

  override close(): void {
    this.timer.cancel();
    super.close();
  }

  protected override askLater(members: readonly Delivery[]): void {
    for (const member of members) this.batches.left(member); // it may be claimed with another batch
    super.askLater(members);
  }

  /** How long to wait for more copies, in ms; the claim itself takes some of the time. */
  private timeLeft(): number {
    const { clock, ledger } = this.context;
    let first = Infinity;
    for (const { waitingSince } of this.waiting) first = Math.min(first, waitingSince);
    return first + this.batches.settings.wait - ledger.ahead / 2 - clock.now();
  }
}
