import type { Cluster } from '../../cluster/cluster.js';
import { deleteCopies, deleteCopy, type JobGeneration } from '../../copies/deletion.js';
import type { StoredTube } from '../../api/tube.js';
import { isUnknown, type Place } from '../../copies/location.js';
import { DeletedCopies, type DeletedCopy } from '../../ledger/deleted-copies.js';
import type { SettleQueue } from '../../ledger/settle-queue.js';
import type { Clock } from '../../time/clock.js';
import type { Delivery } from '../reserve/delivery.js';
import { Pace } from './pace.js';

/** Milliseconds. While many jobs end, a question for the copies of several costs a node and us little more than for one. */
const INTERVAL = 10;

interface Deletion {
  readonly delivery: Delivery;
  readonly siblings: boolean;
}

/** Deletes the copies of a job that is over: the one in hand on its lane, its sleeping siblings wherever they are. */
export class Deletions {
  private open = 0;
  private readonly none = new DeletedCopies();
  private readonly pace: Pace<Deletion>;

  constructor(
    private readonly cluster: Cluster,
    private readonly settleQueue: SettleQueue,
    clock: Clock,
    private readonly tube: StoredTube,
    /** One of them was answered. */
    private readonly onAnswered: () => void,
  ) {
    this.pace = new Pace(clock, INTERVAL, (deletion) => this.begin(deletion));
  }

  /** Deletions without an answer. */
  get pending(): number {
    return this.open;
  }

  /** `siblings` false: only the copy in hand, as when the others were dealt with by whoever ended the job. */
  delete(delivery: Delivery, siblings: boolean): void {
    this.open++;
    this.pace.add({ delivery, siblings });
  }

  /** The same for a generation that was stored and does not count. */
  deleteVoid(job: JobGeneration, places: readonly Place[]): void {
    this.open++;
    void deleteCopies(this.cluster, this.settleQueue, this.tube, job, places).then(() => {
      this.open--;
      this.onAnswered();
    });
  }

  private begin({ delivery, siblings }: Deletion): void {
    const { header, node, lane } = delivery;
    let deleted = this.none;
    let left = 1; // until all are asked for
    const answered = (copy: DeletedCopy | undefined) => {
      if (copy) deleted = deleted.with(copy);
      if (--left > 0) return;
      this.open--;
      const { id, generation } = header;
      const { copies } = deleted;
      this.settleQueue.add({ tube: this.tube, id, generation, copies, unknown: delivery.unknown });
      this.onAnswered();
    };
    const ask = (place: Place) => {
      left++;
      deleteCopy(this.cluster, header, place, answered);
    };
    const { index } = header;
    if (delivery.held) {
      left++;
      const { instance } = lane;
      lane.delete(delivery, (gone) => answered(gone ? { index, node, instance } : undefined));
    } else {
      ask({ index, location: delivery.location });
    }
    if (siblings) for (const place of header.siblings) if (!isUnknown(place.location)) ask(place);
    answered(undefined);
  }
}
