/** Which member of a group gets which partitions. */
import type { TopicPartition } from './message.js';

export interface Claimant {
  readonly id: string;
  /** Those that it has subscribed to. */
  readonly topics: readonly string[];
  /** What it had before. */
  readonly owned: readonly TopicPartition[];
}

interface Share {
  readonly id: string;
  readonly topics: ReadonlySet<string>;
  readonly partitions: TopicPartition[];
}

/**
 * Gives each partition to one member that has subscribed to its topic. No member has two more than another that could have
 * one of them; as far as that allows, each partition stays where it was.
 * @param topics How many partitions each topic has.
 * @returns By the member's id; partitions by topic and number. A partition without a subscriber is in none.
 */
export function assignPartitions(
  topics: ReadonlyMap<string, number>,
  members: readonly Claimant[],
): Map<string, readonly TopicPartition[]> {
  const sorted = members.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const shares = sorted.map(({ id, topics }): Share => ({ id, topics: new Set(topics), partitions: [] }));
  const free = new Map<string, TopicPartition>();
  for (const topic of [...topics.keys()].sort())
    for (let partition = 0; partition < (topics.get(topic) ?? 0); partition++)
      free.set(keyOf({ topic, partition }), { topic, partition });

  sorted.forEach(({ owned }, index) => {
    const share = shares[index];
    for (const each of owned) if (share?.topics.has(each.topic)) keep(share, each, free);
  });
  for (const each of free.values()) lightest(shares, each.topic)?.partitions.push(each);
  while (shares.some((share) => lighten(share, shares)));

  for (const { partitions } of shares) partitions.sort(byPlace);
  return new Map(shares.map(({ id, partitions }) => [id, partitions]));
}

/** One text for one partition. */
export function keyOf({ topic, partition }: TopicPartition): string {
  return `${topic}/${partition}`;
}

function keep(share: Share, each: TopicPartition, free: Map<string, TopicPartition>): void {
  if (free.delete(keyOf(each))) share.partitions.push(each);
}

function lightest(shares: readonly Share[], topic: string): Share | undefined {
  let found: Share | undefined;
  for (const share of shares)
    if (share.topics.has(topic) && (!found || share.partitions.length < found.partitions.length))
      found = share;
  return found;
}

/** Hands one partition to a member that has at least two fewer; false: there is none. */
function lighten(share: Share, shares: readonly Share[]): boolean {
  // From the end, so that what was assigned first stays.
  for (let index = share.partitions.length - 1; index >= 0; index--) {
    const each = share.partitions[index];
    const taker = each && lightest(shares, each.topic);
    if (!taker || taker.partitions.length + 1 >= share.partitions.length) continue;
    share.partitions.splice(index, 1);
    taker.partitions.push(each);
    return true;
  }
  return false;
}

function byPlace(a: TopicPartition, b: TopicPartition): number {
  return a.topic === b.topic ? a.partition - b.partition : a.topic < b.topic ? -1 : 1;
}
