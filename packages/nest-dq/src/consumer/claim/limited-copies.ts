import { copyDelay } from '../../copies/timing.js';
import type { LimitKind } from '../../ledger/limits.js';
import type { ClaimAnswer } from '../../ledger/requests.js';
import type { Timer } from 'nest-handlers/time';
import type { Delivery, HeldUntil } from '../reserve/delivery.js';
import type { TubeContext } from '../tube-context.js';
import type { ClaimQueue } from './claim-queue.js';

/** Milliseconds. What has to wait for longer is released, so that another process, or a more urgent job, may come first. */
const LONGEST_HOLD = 1_000;
/** Milliseconds. Copies refused by the rate are held for the runs of this time: what is held goes ahead of a more urgent job. */
const RATE_WINDOW = 200;
/** Copies that are held for groups, for each slot. More would leave no room to find jobs of other groups. */
const HELD_FOR_GROUPS = 2;

/**
 * The copies that a limit of the tube has refused. Those that may run soon are held and claimed again at their time, or as soon
 * as a run of this process returns the permit they wait for. While the tube itself is at its limit, nothing more is reserved: the
 * next copies would be refused, too.
 */
export class LimitedCopies {
  /** By the permit that they wait for. Some of them may have gone. */
  private readonly waiting = new Map<string, Set<Delivery>>();
  /** Those that wait for their turn by the rate. Some of them may have gone. */
  private readonly forTurn = new Set<Delivery>();
  private readonly mostForTurn: number;
  private rest: { readonly by: LimitKind; readonly until: number; readonly timer: Timer } | undefined;

  constructor(
    private readonly context: TubeContext,
    private readonly claims: ClaimQueue,
  ) {
    const { interval } = context.handling.limits ?? {};
    this.mostForTurn = interval === undefined ? Infinity : Math.ceil((RATE_WINDOW * 1_000) / interval);
  }

  /** How many copies may be reserved for now. */
  get room(): number {
    if (this.rest) return 0;
    this.forgetGone(this.forTurn);
    return this.mostForTurn - this.forTurn.size;
  }

  /** Holds a copy to claim it again, or releases it. */
  hold(delivery: Delivery, { by, ms }: Extract<ClaimAnswer, { kind: 'limited' }>): HeldUntil {
    const { index, group = '' } = delivery.header;
    if (by === 'group') {
      // Backups are not held: their primary asks for the same job.
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

  /** A run of this process is over, and with it its permit is free: who waits for it asks at once. */
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
   * Whether the copy is to be held until its turn. Reserving goes on when half of the held ones had theirs; if none is held, the
   * next turn is far away. Each refusal rests: a copy that is released is ready at once, and would be refused again.
   */
  private holdsForTurn(delivery: Delivery, ms: number): boolean {
    this.forgetGone(this.forTurn);
    const holds = ms <= RATE_WINDOW && this.forTurn.size < this.mostForTurn;
    if (holds) this.forTurn.add(delivery);
    this.restFor(Math.min(ms, this.forTurn.size > 0 ? RATE_WINDOW : LONGEST_HOLD) / 2, 'rate');
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

  /** False: none waits. */
  private askNext(permit: string): boolean {
    const deliveries = this.waiting.get(permit);
    if (!deliveries) return false;
    for (const delivery of deliveries) {
      deliveries.delete(delivery);
      if (!this.claims.isPostponed(delivery)) continue; // it is asked for, or gone
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
