import { deleteCopies, deleteCopy, type JobGeneration } from '../../copies/deletion.js';
import { isUnknown, type Place } from '../../copies/location.js';
import type { DeletedCopy } from '../../ledger/handover.js';
import type { Delivery } from '../reserve/delivery.js';
import type { TubeContext } from '../tube-context.js';

/**
 * Interval at which deletions are sent. Under load, deleting the copies of several jobs together costs little more than
 * those of one.
 */
const INTERVAL_MS = 10;

interface Deletion {
  readonly delivery: Delivery;
  readonly siblings: boolean;
}

/**
 * Deletes the copies of a finished job: the held one, on its lane, and its siblings, which are still delayed on their nodes. The
 * first deletions are sent in the same turn of the event loop. While more jobs end, the deletions of each interval are sent
 * together.
 */
export class CopyDeleter {
  /** Number of jobs whose deletions haven't been answered. */
  size = 0;
  private gathered: Deletion[] = [];
  private gathers = false;
  private gathersSoon = false;

  constructor(private readonly context: TubeContext) {}

  /** Deletes the held copy, and its siblings unless the process that ended the job has dealt with them. */
  delete(delivery: Delivery, siblings: boolean): void {
    this.size++;
    const deletion = { delivery, siblings };
    if (this.gathers) {
      this.gathered.push(deletion);
      return;
    }
    this.begin(deletion);
    if (this.gathersSoon) return;
    this.gathersSoon = true;
    this.context.clock.soon(() => {
      this.gathersSoon = false;
      this.gather();
    });
  }

  /** Deletes the copies of a generation that was stored but isn't valid. */
  deleteVoid(job: JobGeneration, places: readonly Place[]): void {
    this.size++;
    void deleteCopies(this.context, this.context.storedAs, job, places).then(() => {
      this.size--;
      this.context.life.copyGone();
    });
  }

  private gather(): void {
    this.gathers = true;
    this.context.clock.after(INTERVAL_MS, () => {
      this.gathers = false;
      const { gathered } = this;
      if (gathered.length === 0) return;
      this.gathered = [];
      for (const deletion of gathered) this.begin(deletion);
      this.gather();
    });
  }

  private begin({ delivery, siblings }: Deletion): void {
    const { cluster, settleQueue, storedAs: tube } = this.context;
    const { header, index, lane } = delivery;
    const copies: DeletedCopy[] = [];
    let left = 1; // stays above 0 until all have been requested
    const answered = (copy: DeletedCopy | undefined) => {
      if (copy) copies.push(copy);
      if (--left > 0) return;
      this.size--;
      const { id, generation } = header;
      settleQueue.add({ tube, id, generation, copies, unknown: delivery.unknown });
      this.context.life.copyGone();
    };
    const ask = (place: Place) => {
      left++;
      deleteCopy(cluster, tube, header, place, answered);
    };
    if (delivery.held) {
      left++;
      const { instance } = lane;
      lane.delete(delivery, (gone) => answered(gone ? { index, instance } : undefined));
    } else {
      ask({ index, location: delivery.location });
    }
    if (siblings) for (const place of header.siblings) if (!isUnknown(place.location)) ask(place);
    answered(undefined);
  }
}
