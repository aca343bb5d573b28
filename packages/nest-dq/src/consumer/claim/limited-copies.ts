import { copyDelay } from '../../copies/timing.js';
import type { LimitKind } from '../../ledger/limits.js';
import type { ClaimAnswer } from '../../ledger/requests.js';
import type { Timer } from 'nest-handlers/time';
import type { Delivery } from '../reserve/delivery.js';
import type { TubeContext } from '../tube-context.js';
import type { ClaimQueue } from './claim-queue.js';

/** Milliseconds. What has to wait for longer is released, so that another process, or a more urgent job, may come first. */
const LONGEST_HOLD = 1_000;
/** Copies that are held for groups, for each slot. More would leave no room to find jobs of other groups. */
const HELD_FOR_GROUPS = 2;

/**
 * The copies that a limit of the tube has refused. Those that may run within a second are held and ask again at their time, or as
 * soon as a run of this process returns the permit that they wait for. If the tube itself is limited, nothing is reserved
 * meanwhile: the next copies would be refused, too.
 */
export class LimitedCopies {
  /** By the permit that they wait for. Some of them may have gone. */
  private readonly waiting = new Map<string, Set<Delivery>>();
  private rest: { readonly by: LimitKind; readonly until: number; readonly timer: Timer } | undefined;

  constructor(
    private readonly context: TubeContext,
    private readonly claims: ClaimQueue,
    /** Copies may be reserved again. */
    private readonly changed: () => void,
  ) {}

  /** Nothing may be reserved for now. */
  get full(): boolean {
    return this.rest !== undefined;
  }

  add(delivery: Delivery, { by, ms }: Extract<ClaimAnswer, { kind: 'limited' }>): void {
    const { index, group = '' } = delivery.header;
    if (by === 'group') {
      // Backups are not held: their primary asks for the same job.
      const delay = copyDelay(index, ms, this.context.backupDelay);
      if (delay > 0 || !this.hasRoom) return delivery.release(Math.max(1, delay));
    } else {
      this.restFor(Math.min(ms, LONGEST_HOLD), by);
      if (ms > LONGEST_HOLD) return delivery.release(0);
    }
    if (!delivery.held) return;
    if (by !== 'rate') this.waitFor(by === 'group' ? group : '', delivery);
    this.claims.postponeFor(delivery, ms);
  }

  /** A run of this process is over, and with it its permit is free: who waits for it asks at once. */
  returned(permit: string | undefined): void {
    if (permit === undefined) return;
    if (permit !== '') this.askNext(permit);
    if (this.askNext('') || this.rest?.by !== 'concurrency') return;
    this.close();
    this.changed();
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
      for (const delivery of deliveries) if (!this.claims.isPostponed(delivery)) deliveries.delete(delivery);
      if (deliveries.size === 0) this.waiting.delete(permit);
    }
    return count() < most;
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
      this.claims.remove(delivery);
      this.claims.addAll([delivery]);
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
      this.changed();
    });
    this.rest = { by, until, timer };
  }
}
