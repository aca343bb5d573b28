/** Where a group begins that has committed nothing in a topic, and that is not to read what is there. */
import type { Consumer } from 'kafkajs';
import type { TopicPartition } from '../message.js';
import type { KafkajsClient } from './kafkajs-client.js';
import type { KafkajsCluster } from './kafkajs-cluster.js';
import { meant } from './kafkajs-errors.js';
import { endOf } from './topic-end.js';

const PAUSE = 200;

/**
 * kafkajs' own way is to begin at the end each time that nothing is committed: then a crash before the first commit loses
 * what came meanwhile, and so does a commit that the brokers have forgotten.
 */
export class StartAtEnd {
  private readonly sure: Set<string>;

  constructor(
    private readonly client: KafkajsClient,
    private readonly cluster: KafkajsCluster,
    private readonly group: string,
    private readonly consumer: Consumer,
    fromFirst?: ReadonlySet<string>,
  ) {
    this.sure = new Set(fromFirst);
  }

  isUnsure(topic: string): boolean {
    return !this.sure.has(topic);
  }

  /** Commits the ends of the topic of these places if nothing is committed there. Tries until it can, or until this is not `current` any more. */
  async settle(places: readonly TopicPartition[], current: () => boolean): Promise<void> {
    for (; current(); await this.client.delay(PAUSE)) {
      try {
        await this.settleTopic(places[0]!.topic, places, current);
        return;
      } catch (error) {
        this.client.log.debug(meant(error, `cannot find the end for group ${this.group}`).message);
      }
    }
  }

  private async settleTopic(
    topic: string,
    places: readonly TopicPartition[],
    current: () => boolean,
  ): Promise<void> {
    if (this.sure.has(topic)) return;
    const committed = await this.cluster.committed(this.group, topic);
    if (committed.every(({ offset }) => offset === undefined)) {
      const ends = await endOf(this.client, this.cluster, topic);
      if (!current()) return;
      const begins = ends.map(({ partition, offset }) => ({ topic, partition, offset: String(offset) }));
      // All partitions, as a member that has others must not take this for an old group.
      await this.consumer.commitOffsets(begins);
      for (const each of begins)
        if (places.some(({ partition }) => partition === each.partition)) this.consumer.seek(each);
    }
    this.sure.add(topic);
  }
}
