/** Assigns partitions to the members of a group. */
import type { TopicPartition } from './message.js';

export interface Claimant {
  readonly id: string;
  /** Subscribed topics. */
  readonly topics: readonly string[];
  /** Partitions it had before. */
  readonly owned: readonly TopicPartition[];
}

interface Share {
  readonly id: string;
  readonly topics: ReadonlySet<string>;
  readonly partitions: TopicPartition[];
}

/**
 * Assigns each partition to one member subscribed to its topic. No member gets two more than another that could have one of
 * them; within that, partitions stay where they were.
 * @param topics Number of partitions of each topic.
 * @returns Partitions by member id, sorted by topic and number. A partition without a subscriber is left out.
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

/** Returns a unique key for a partition. */
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

/** Moves one partition to a member that has at least two fewer; returns false if there is none. */
function lighten(share: Share, shares: readonly Share[]): boolean {
  // From the end, so that the earliest assigned ones stay.
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
