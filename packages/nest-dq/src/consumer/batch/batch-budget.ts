import type { Clock } from 'nest-handlers/time';
import { ReserveBudget } from '../reserve/reserve-budget.js';
import type { Batches } from './batches.js';

/** The slots of a tube whose handler takes batches: as many as all batches can have jobs. A batch takes all of its slots. */
export class BatchBudget extends ReserveBudget {
  constructor(
    clock: Clock,
    concurrency: number,
    private readonly batches: Batches,
  ) {
    super(clock, concurrency);
  }

  override get free(): number {
    return Math.min(super.free, this.batches.free * this.batches.settings.size);
  }
}
