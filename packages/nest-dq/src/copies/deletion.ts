import type { Cluster } from '../cluster/cluster.js';
import type { StoredTube } from '../api/tube.js';
import type { DeletedCopy } from '../ledger/handover.js';
import type { SettleQueue } from '../ledger/settle-queue.js';
import { unwrap } from './formats/unwrap.js';
import { isCopyOf } from './header.js';
import { isUnknown, type Place } from './location.js';

/** One generation of a job. */
export interface JobGeneration {
  readonly id: string;
  readonly generation: number;
}

/** Deletes one copy of a job, unless another job has its place by now. Calls back with it if the server said DELETED. */
export function deleteCopy(
  cluster: Cluster,
  tube: StoredTube,
  job: JobGeneration,
  { index, location }: Place,
  done: (deleted: DeletedCopy | undefined) => void,
): void {
  const isSame = (body: Buffer) => {
    const envelope = unwrap(body, tube, cluster.settings.seal);
    return typeof envelope === 'object' && isCopyOf(envelope, job.id, job.generation, index);
  };
  cluster.delete(location, isSame, (result, node) => {
    const instance = node?.instance;
    done(result === 'deleted' && instance !== undefined ? { index, instance } : undefined);
  });
}

/** What deletes, and what tells the ledger of it. */
export interface DeletingParts {
  readonly cluster: Cluster;
  readonly settleQueue: SettleQueue;
}

/**
 * Deletes the copies of a generation that is void, and settles those that are certainly gone. True: every copy was there
 * and is deleted, so that none can surface. It never rejects.
 */
export function deleteCopies(
  { cluster, settleQueue }: DeletingParts,
  tube: StoredTube,
  { id, generation }: JobGeneration,
  places: readonly Place[],
): Promise<boolean> {
  return new Promise((resolve) => {
    const known = places.filter(({ location }) => !isUnknown(location));
    const unknown = known.length < places.length;
    const copies: DeletedCopy[] = [];
    let left = known.length;
    const end = () => {
      settleQueue.add({ tube, id, generation, copies, unknown });
      resolve(!unknown && copies.length === places.length && copies.length > 0);
    };
    if (left === 0) return end();
    for (const place of known) {
      deleteCopy(cluster, tube, { id, generation }, place, (copy) => {
        if (copy) copies.push(copy);
        if (--left === 0) end();
      });
    }
  });
}
