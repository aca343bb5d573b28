/** Where a seek leads to, by partition. */
import { checkOptions } from '../api/checks.js';
import type { LogAdmin, PartitionEnds } from '../driver/driver.js';
import type { PartitionOffset } from '../driver/message.js';
import { wrongValue } from '../errors.js';

const TARGETS = "'first', 'last', a Date, or an object with an offset for each partition";

/** Rejects with `KQ_BAD_OPTION`, and as the admin. */
export async function offsetsOf(admin: LogAdmin, topic: string, target: unknown): Promise<PartitionOffset[]> {
  checkOptions('KQ_BAD_OPTION', '`seek`', target, ['to']);
  const { to } = target as { to: unknown };
  if (to === 'first')
    return (await admin.ends(topic)).map(({ partition, first: offset }) => ({ partition, offset }));
  if (to === 'last')
    return (await admin.ends(topic)).map(({ partition, end: offset }) => ({ partition, offset }));
  if (to instanceof Date && !Number.isNaN(to.getTime()))
    return [...(await admin.offsetsAt(topic, to.getTime()))];
  const chosen = typeof to === 'object' && to !== null && !(to instanceof Date) ? Object.entries(to) : [];
  if (chosen.length === 0) throw wrongValue('KQ_BAD_OPTION', '`to`', to, TARGETS);
  const ends = await admin.ends(topic);
  return chosen.map(([name, offset]) => chosenOffset(topic, ends, name, offset));
}

function chosenOffset(
  topic: string,
  ends: readonly PartitionEnds[],
  name: string,
  value: unknown,
): PartitionOffset {
  const found = ends.find(({ partition }) => String(partition) === name);
  if (!found)
    throw wrongValue('KQ_BAD_OPTION', `a partition of ${topic} in \`to\``, name, `0 to ${ends.length - 1}`);
  const { partition, first, end } = found;
  const offset = asOffset(value);
  if (offset !== undefined && offset >= first && offset <= end) return { partition, offset };
  const expected = `an offset from ${first} (the first that is stored) to ${end} (behind the last one)`;
  throw wrongValue('KQ_BAD_OPTION', `\`to\` for ${topic}/${partition}`, value, expected);
}

function asOffset(value: unknown): bigint | undefined {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value);
  return typeof value === 'string' && /^\d+$/.test(value) ? BigInt(value) : undefined;
}
