/** Where a group begins that has committed nothing in a topic, and that is not to read what is there. */
import type { KafkajsClient } from '../kafkajs/kafkajs-client.js';
import type { KafkajsCluster } from '../kafkajs/kafkajs-cluster.js';
import { endOf } from '../kafkajs/topic-end.js';
import type { GroupOffset, TopicPartition } from '../message.js';

export class StartAtEnd {
  private readonly sure: Set<string>;

  constructor(
    private readonly client: KafkajsClient,
    private readonly cluster: KafkajsCluster,
    private readonly group: string,
    private readonly commit: (offsets: readonly GroupOffset[]) => Promise<void>,
    fromFirst?: ReadonlySet<string>,
  ) {
    this.sure = new Set(fromFirst);
  }

  /** Commits the ends of topics in which nothing is committed. Rejects where it cannot. */
  async settle(places: readonly TopicPartition[]): Promise<void> {
    for (const topic of new Set(places.map((place) => place.topic))) {
      if (this.sure.has(topic)) continue;
      const committed = await this.cluster.committed(this.group, topic);
      if (committed.every(({ offset }) => offset === undefined)) {
        // All partitions, as a member that has others must not take this for an old group.
        const ends = await endOf(this.client, this.cluster, topic);
        await this.commit(ends.map((end) => ({ topic, ...end })));
      }
      this.sure.add(topic);
    }
  }
}
