import { nodeStats } from 'test-servers';
import type { Servers } from './servers.js';

/** Copies on all nodes, of all tubes, in any state. */
export async function copiesOn({ nodes }: Servers): Promise<number> {
  const stats = await Promise.all(nodes.map(nodeStats));
  const states = ['ready', 'reserved', 'delayed', 'buried'] as const;
  return stats.reduce(
    (sum, stat) => sum + states.reduce((all, state) => all + stat(`current-jobs-${state}`), 0),
    0,
  );
}
