import { InProcessNode } from '../src/embedded/in-process-node.js';
import { embedded } from './producing.js';

/** Nodes that can lose their data, of which each job has three, and an index of what waits. */
export async function wipeable(count = 4, prefix = '', mostIndexed = 1_000) {
  const found = await embedded(count, prefix);
  const { clock, servers, cut, restore } = found;
  const process = found.process({ mostIndexed });
  const { producer } = process;
  /** The first job's primary is on the first node, the second one's on the second, and so on. */
  const add = async (delays: readonly number[], tube = 't') => {
    const receipts = await Promise.all(delays.map((delay, i) => producer.delay(tube, i, delay)));
    await clock.advance(1_000); // the index is written behind
    return receipts;
  };
  /** The server starts again, without a log. */
  const wipe = async (node: number) => {
    await cut(node);
    servers[node] = new InProcessNode(clock);
    await restore();
  };
  /** The copies that count. Of the older generations some may still be there: a deletion without an answer is not repeated. */
  const present = async (tube = 't') => {
    const all = await found.copies(tube);
    const newest = new Map(all.map(({ header }) => [header.id, header.generation])); // in the order of generations
    return all.filter(({ header }) => header.generation === newest.get(header.id));
  };
  return Object.assign(found, process, { add, wipe, present });
}
