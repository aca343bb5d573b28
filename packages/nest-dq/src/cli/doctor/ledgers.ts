import { failure, type Check } from './check.js';
import type { NodeFacts } from './nodes.js';

/** Whether processes at the nodes decide in another ledger. `identity`: of the ledger in this Redis, if it has one. */
export function checkLedgers(nodes: readonly NodeFacts[], identity: string | undefined): Check[] {
  return nodes.flatMap(({ endpoint, ledgers }) => {
    const others = ledgers.filter((id) => id !== identity);
    if (others.length === 0) return [];
    const here = identity === undefined ? 'this Redis has none' : `this Redis has ${identity}`;
    const fact = `processes use the ledger ${others.join(', ')} there, and ${here}`;
    const advice =
      'give all processes of these nodes, and this command, the same `redis`, or each application its own `prefix`';
    const lost =
      identity === undefined ? '; if this Redis has just lost its data, look again in 10 seconds' : '';
    return [failure(endpoint, fact, advice + lost)];
  });
}
