import { counted, grouped, nearest } from 'nest-handlers/cli';

/** Max number of other prefixes shown. */
const MAX_SHOWN = 5;

/** Advice for a prefix that no tube has. */
export const PREFIX_ADVICE = 'check --prefix: it must be the option `prefix` of the application';

/** Names the prefixes that tubes have, if none has the given one. Undefined if there are no tubes at all. */
export function unknownPrefix(prefix: string, others: ReadonlySet<string>): string | undefined {
  if (others.size === 0) return undefined;
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
  return `no tube begins with ${JSON.stringify(prefix)}, but ${counted(others.size, 'other')}: ${shown.join(', ')}${rest}`;
}

/** `shop.` of `shop.order.cancel`: prefixes usually end with a dot. */
function beginningOf(tube: string): string {
  const dot = tube.indexOf('.');
  return dot < 0 ? tube : tube.slice(0, dot + 1);
}
