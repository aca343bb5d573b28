import type { Cluster } from './cluster/cluster.js';
import { isCopy } from './envelope.js';
import type { DeletedCopy } from './ledger/settle-queue.js';
import type { Place } from './location.js';

/** Deletes one copy of a job where it is, whatever lives there by now; calls back with it if the server said DELETED. */
export function deleteCopy(
  cluster: Cluster,
  job: { readonly id: string; readonly generation: number },
  { index, location }: Place,
  done: (deleted: DeletedCopy | undefined) => void,
): void {
  const isSame = (body: Buffer) => isCopy(body, job.id, job.generation, index);
  cluster.delete(location, isSame, (result, node) => {
    const instance = node?.instance;
    done(result === 'deleted' && node && instance !== undefined ? { index, node, instance } : undefined);
  });
}
