/** Where a new group begins that is not to read what is there. */
import type { PartitionOffset } from '../message.js';
import type { KafkajsClient } from './kafkajs-client.js';
import type { KafkajsCluster } from './kafkajs-cluster.js';

/** Milliseconds that the election of a leader may take; without one a partition begins at its first message. */
const ELECTION = 3_000;
const PAUSE = 100;

/**
 * Behind the last message of each partition. One that has no leader begins at its first message: what is stored as soon as it has
 * one must not be skipped, and by then nobody can tell that from what was there before.
 */
export async function endOf(
  client: KafkajsClient,
  cluster: KafkajsCluster,
  topic: string,
): Promise<PartitionOffset[]> {
  for (const until = client.clock.now() + ELECTION; ; await client.delay(PAUSE)) {
    const ends = await cluster.endsOfLed(topic);
    const leaderless = ends.flatMap((end, partition) => (end ? [] : [`${topic}/${partition}`]));
    if (leaderless.length > 0 && client.clock.now() < until) continue;
    if (leaderless.length > 0)
      client.log.warn(
        `${leaderless.join(', ')}: no leader tells the end, so the group begins at the first message`,
      );
    return ends.map((end, partition) => ({ partition, offset: end?.end ?? 0n }));
  }
}
