import type { ClusterNode } from 'nest-dq/src/cluster/cluster-node.js';

const KINDS = ['ready', 'reserved', 'delayed', 'buried'];

/** The number of copies that a node has in a tube, in all states. Rejects while the node is down. */
export async function countCopies(node: ClusterNode, tube: string): Promise<number> {
  const connection = node.connectLane(() => undefined);
  if (!connection) throw new Error(`${node.endpoint} is down: ${node.reason}`);
  const stats = await connection
    .ask<Readonly<Record<string, string>> | 'NOT_FOUND'>((done) => connection.statsTube(tube, done))
    .finally(() => connection.close());
  if (stats === 'NOT_FOUND') return 0;
  return KINDS.reduce((sum, kind) => sum + Number(stats[`current-jobs-${kind}`]), 0);
}
