import type { Cluster } from '../cluster/cluster.js';
import { deleteCopies, deleteCopy, type JobGeneration } from '../copy-deletion.js';
import { hasUnknown, isUnknown, type Place } from '../location.js';
import type { DeletedCopy, SettleQueue } from '../ledger/settle-queue.js';
import type { Delivery } from './delivery.js';

/** Deletes the copies of a job that is over: the one in hand on its lane, its sleeping siblings wherever they are. */
export class Deletions {
  private open = 0;

  constructor(
    private readonly cluster: Cluster,
    private readonly settleQueue: SettleQueue,
    private readonly tube: string,
    /** One of them was answered. */
    private readonly onAnswered: () => void,
  ) {}

  /** Deletions without an answer. */
  get pending(): number {
    return this.open;
  }

  /** `siblings` false: only the copy in hand, as when the others were dealt with by whoever ended the job. */
  delete(delivery: Delivery, siblings: boolean): void {
    const { header, node, lane } = delivery;
    const others = siblings ? header.siblings.filter(({ location }) => !isUnknown(location)) : [];
    const deleted: DeletedCopy[] = [];
    let left = others.length + 1;
    this.open++;
    const answered = (copy: DeletedCopy | undefined) => {
      if (copy) deleted.push(copy);
      if (--left > 0) return;
      this.open--;
      const { id, generation } = header;
      const unknown = hasUnknown(header.siblings);
      this.settleQueue.add({ tube: this.tube, id, generation, copies: deleted, unknown });
      this.onAnswered();
    };
    const own = (result: boolean) =>
      answered(result ? { index: header.index, node, instance: lane.instance } : undefined);
    if (delivery.held) lane.delete(delivery, own);
    else others.push({ index: header.index, location: delivery.location });
    for (const place of others) deleteCopy(this.cluster, header, place, answered);
  }

  /** The same for a generation that was stored and does not count. */
  deleteVoid(job: JobGeneration, places: readonly Place[]): void {
    this.open++;
    void deleteCopies(this.cluster, this.settleQueue, this.tube, job, places).then(() => {
      this.open--;
      this.onAnswered();
    });
  }
}
