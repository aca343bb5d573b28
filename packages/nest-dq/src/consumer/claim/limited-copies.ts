import { copyDelay } from '../../copies/timing.js';
import type { LimitKind } from '../../ledger/limits/limits.js';
import type { ClaimAnswer } from '../../ledger/requests.js';
import type { Timer } from 'nest-handlers/time';
import type { Delivery, HeldUntil } from '../reserve/delivery.js';
import type { TubeContext } from '../tube-context.js';
import type { ClaimQueue } from './claim-queue.js';

/** Max time a copy is held. One that must wait longer is released, so that another process or a more urgent job can go first. */
const LONGEST_HOLD_MS = 1_000;
/**
 * Copies refused by the rate limit are held only if their turn comes within this time, because a held copy goes ahead of more
 * urgent jobs.
 */
const RATE_WINDOW_MS = 200;
/** Max copies per slot held for groups at their limit. More would leave no room to find jobs of other groups. */
const HELD_FOR_GROUPS = 2;

/**
 * Handles copies refused by a limit of the tube. Those that may run soon are held, and claimed again when their time comes or
 * when a run in this process returns the permit they wait for. While the tube itself is at its limit, nothing more is reserved,
 * since the next copies would be refused too.
 */
export class LimitedCopies {
  /** Held copies by the permit they wait for. Some may no longer be held. */
  private readonly waiting = new Map<string, Set<Delivery>>();
  /** Copies waiting for their turn under the rate limit. Some may no longer be held. */
  private readonly forTurn = new Set<Delivery>();
  private rest: { readonly by: LimitKind; readonly until: number; readonly timer: Timer } | undefined;

  constructor(
    private readonly context: TubeContext,
    private readonly claims: ClaimQueue,
  ) {}

  /** Number of copies that may be reserved now. */
  get room(): number {
    if (this.rest) return 0;
    this.forgetGone(this.forTurn);
    return this.mostForTurn - this.forTurn.size;
  }

  /** Holds a copy to claim it again, or releases it. */
  hold(delivery: Delivery, { by, ms }: Extract<ClaimAnswer, { kind: 'limited' }>): HeldUntil {
    const { index, group = '' } = delivery.header;
    if (by === 'group') {
      // Backups aren't held: their primary claims the same job.
      const delay = copyDelay(index, ms, this.context.backupDelay);
      if (delay > 0 || !this.hasRoom) {
        delivery.release(Math.max(1, delay));
        return undefined;
      }
    } else if (by === 'concurrency') {
      this.restFor(ms, by);
    } else if (!this.holdsForTurn(delivery, ms)) {
      delivery.release(0);
      return undefined;
    }
    if (!delivery.held) return undefined;
    if (by !== 'rate') this.waitFor(by === 'group' ? group : '', delivery);
    return this.context.ledger.now() + ms;
  }

  /** Called when a run in this process has returned its permit: claims the next copy that waits for it. */
  returned(permit: string | undefined): void {
    if (permit === undefined) return;
    if (permit !== '') this.askNext(permit);
    if (this.askNext('') || this.rest?.by !== 'concurrency') return;
    this.close();
    this.context.life.changed();
  }

  close(): void {
    this.rest?.timer.cancel();
    this.rest = undefined;
  }

  /** Max copies held for their turn. */
  private get mostForTurn(): number {
    const { interval } = this.context.handling.limits ?? {};
    return interval === undefined ? Infinity : Math.ceil((RATE_WINDOW_MS * 1_000) / interval);
  }

  private get hasRoom(): boolean {
    const most = HELD_FOR_GROUPS * this.context.budget.concurrency;
    const count = () => Array.from(this.waiting.values()).reduce((sum, { size }) => sum + size, 0);
    if (count() < most) return true;
    for (const [permit, deliveries] of this.waiting) {
      this.forgetGone(deliveries);
      if (deliveries.size === 0) this.waiting.delete(permit);
    }
    return count() < most;
  }

  /**
   * Whether to hold the copy until its turn. Every refusal pauses reserving, because a released copy is ready immediately and
   * would be refused again. Reserving resumes when half of the held copies have had their turn, or at the next turn if none is
   * held.
   */
  private holdsForTurn(delivery: Delivery, ms: number): boolean {
    this.forgetGone(this.forTurn);
    const holds = ms <= RATE_WINDOW_MS && this.forTurn.size < this.mostForTurn;
    if (holds) this.forTurn.add(delivery);
    this.restFor(Math.min(ms, this.forTurn.size > 0 ? RATE_WINDOW_MS : LONGEST_HOLD_MS) / 2, 'rate');
    return holds;
  }

  private forgetGone(deliveries: Set<Delivery>): void {
    for (const delivery of deliveries) if (!this.claims.isPostponed(delivery)) deliveries.delete(delivery);
  }

  private waitFor(permit: string, delivery: Delivery): void {
    const deliveries = this.waiting.get(permit);
    if (deliveries) deliveries.add(delivery);
    else this.waiting.set(permit, new Set([delivery]));
  }

  /** Returns false if no copy waits for the permit. */
  private askNext(permit: string): boolean {
    const deliveries = this.waiting.get(permit);
    if (!deliveries) return false;
    for (const delivery of deliveries) {
      deliveries.delete(delivery);
      if (!this.claims.isPostponed(delivery)) continue; // claimed in the meantime, or no longer held
      this.claims.hasten(delivery);
      return true;
    }
    this.waiting.delete(permit);
    return false;
  }

  private restFor(ms: number, by: LimitKind): void {
    const { clock } = this.context;
    const until = clock.now() + ms;
    if (this.rest && this.rest.until >= until) return;
    this.close();
    const timer = clock.after(ms, () => {
      this.rest = undefined;
      this.context.life.changed();
    });
    this.rest = { by, until, timer };
  }
}
