import { ask } from 'test-servers';

const STATES = ['ready', 'reserved', 'delayed', 'buried'];

/** The number of copies that a node has in a tube, in all states. Rejects if the node does not answer. */
export async function countCopies(node: { readonly endpoint: string }, tube: string): Promise<number> {
  const [host, port] = node.endpoint.split(':') as [string, string];
  // Not over a connection of the library: these give up after half a second, which a busy machine may take.
  const stats = await ask({ host, port: Number(port) }, `stats-tube ${tube}`);
  if (stats === 'NOT_FOUND') return 0;
  return STATES.reduce((sum, state) => sum + countIn(stats, state), 0);
}

function countIn(stats: string, state: string): number {
  const count = new RegExp(`^current-jobs-${state}: (\\d+)$`, 'm').exec(stats)?.[1];
  if (count === undefined)
    throw new Error(`stats-tube was answered without a count of ${state} jobs: ${stats}`);
  return Number(count);
}
