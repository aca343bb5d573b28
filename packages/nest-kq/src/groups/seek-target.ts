/** Resolves the target of a seek to offsets by partition. */
import { checkOptions } from '../api/checks.js';
import type { LogAdmin, PartitionEnds } from '../driver/driver.js';
import { knownEnds, placesOf, type KnownEnds } from '../driver/known-ends.js';
import type { PartitionOffset } from '../driver/message.js';
import { KqError, wrongValue } from '../errors.js';

const TARGETS = "'first', 'last', a Date, or an object with an offset for each partition";

export interface SeekOffsets {
  readonly offsets: readonly PartitionOffset[];
  /** Partitions left where they are, since their ends are unknown without a leader. */
  readonly leaderless: readonly number[];
}

/** Rejects with `KQ_BAD_OPTION`, and like the admin. */
export async function offsetsOf(admin: LogAdmin, topic: string, target: unknown): Promise<SeekOffsets> {
  checkOptions('KQ_BAD_OPTION', '`seek`', target, ['to']);
  const { to } = target as { to: unknown };
  if (to === 'first' || to === 'last') {
    const { ends, leaderless } = await settledEnds(admin, topic);
    const offsetOf = ({ first, end }: PartitionEnds) => (to === 'first' ? first : end);
    return {
      offsets: ends.map((each) => ({ partition: each.partition, offset: offsetOf(each) })),
      leaderless,
    };
  }
  if (to instanceof Date && !Number.isNaN(to.getTime())) {
    const { ends, leaderless } = await settledEnds(admin, topic);
    const led = ends.map(({ partition }) => partition);
    return { offsets: await admin.offsetsAt(topic, to.getTime(), led), leaderless };
  }
  const chosen = typeof to === 'object' && to !== null && !(to instanceof Date) ? Object.entries(to) : [];
  if (chosen.length === 0) throw wrongValue('KQ_BAD_OPTION', '`to`', to, TARGETS);
  const { ends, leaderless } = await settledEnds(admin, topic);
  const missing = leaderless.filter((partition) => chosen.some(([name]) => name === String(partition)));
  if (missing.length > 0)
    throw new KqError('KQ_AWAY', `${placesOf(topic, missing)}: no leader knows the end, so nothing was set`);
  const count = ends.length + leaderless.length;
  return {
    offsets: chosen.map(([name, offset]) => chosenOffset(topic, ends, count, name, offset)),
    leaderless: [],
  };
}

/** Resolves with the ends of all partitions; after waiting in vain for leaders, of those that have one. */
async function settledEnds(admin: LogAdmin, topic: string): Promise<KnownEnds> {
  try {
    return { ends: await admin.ends(topic), leaderless: [] };
  } catch (error) {
    if (!(error instanceof KqError) || error.code !== 'KQ_AWAY') throw error;
    const known = await knownEnds(admin, topic);
    if (known.ends.length === 0) throw error;
    return known;
  }
}

function chosenOffset(
  topic: string,
  ends: readonly PartitionEnds[],
  count: number,
  name: string,
  value: unknown,
): PartitionOffset {
  const found = ends.find(({ partition }) => String(partition) === name);
  if (!found)
    throw wrongValue('KQ_BAD_OPTION', `a partition of ${topic} in \`to\``, name, `0 to ${count - 1}`);
  const { partition, first, end } = found;
  const offset = asOffset(value);
  if (offset !== undefined && offset >= first && offset <= end) return { partition, offset };
  const expected = `an offset from ${first} (the first stored) to ${end} (after the last)`;
  throw wrongValue('KQ_BAD_OPTION', `\`to\` for ${topic}/${partition}`, value, expected);
}

function asOffset(value: unknown): bigint | undefined {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value);
  return typeof value === 'string' && /^\d+$/.test(value) ? BigInt(value) : undefined;
}
