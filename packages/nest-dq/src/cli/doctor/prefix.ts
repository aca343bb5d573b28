import { counted, grouped, nearest } from 'nest-handlers/cli';
import type { ProcessRecord } from '../../fleet/presence.js';
import { type Check, warning } from './check.js';
import type { NodeFacts } from './nodes.js';

/** Max number of other prefixes shown. */
const MAX_SHOWN = 5;

/** Warns if nothing has the prefix although the nodes have tubes with others: it may be wrong, and all else looks well then. */
export function checkPrefix(
  nodes: readonly NodeFacts[],
  prefix: string,
  processes: readonly ProcessRecord[],
): Check[] {
  if (processes.length > 0 || nodes.some(({ tubes }) => tubes.size > 0)) return [];
  const others = new Set(nodes.flatMap(({ otherTubes }) => otherTubes));
  if (others.size === 0) return [];
  const counts = new Map<string, number>();
  for (const tube of others) {
    const beginning = beginningOf(tube);
    counts.set(beginning, (counts.get(beginning) ?? 0) + 1);
  }
  const similar = nearest(prefix, counts.keys());
  const all = [...counts].sort(
    ([a, many], [b, more]) => Number(similar.includes(b)) - Number(similar.includes(a)) || more - many,
  );
  const shown = all.slice(0, MAX_SHOWN).map(([beginning, count]) => `${beginning} (${grouped(count)})`);
  const rest = all.length > MAX_SHOWN ? ', …' : '';
  const fact = `no tube begins with ${JSON.stringify(prefix)}, but ${counted(others.size, 'other')}: ${shown.join(', ')}${rest}`;
  return [warning('prefix', fact, 'check --prefix: it must be the option `prefix` of the application')];
}

/** `shop.` of `shop.order.cancel`: prefixes usually end with a dot. */
function beginningOf(tube: string): string {
  const dot = tube.indexOf('.');
  return dot < 0 ? tube : tube.slice(0, dot + 1);
}
