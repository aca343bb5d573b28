import { TOPIC_NAMES, isTopicName } from '../../api/topic-name.js';
import { KqError, wrongValue } from '../../errors.js';
import type { LogAdmin, TopicSettings } from '../driver.js';
import type { PartitionOffset } from '../message.js';
import type { KafkajsClient } from './kafkajs-client.js';
import type { KafkajsCluster } from './kafkajs-cluster.js';
import { meant } from './kafkajs-errors.js';

/** Milliseconds until the brokers know a topic that they have created, on a machine that is busy. */
const CREATED = 30_000;

export class KafkajsAdmin implements LogAdmin {
  constructor(
    private readonly client: KafkajsClient,
    private readonly cluster: KafkajsCluster,
  ) {}

  async topics() {
    const topics = [...(await this.cluster.topics())].filter(([topic]) => !topic.startsWith('__'));
    return topics
      .map(([topic, partitions]) => ({ topic, partitions: partitions.length }))
      .toSorted((a, b) => (a.topic < b.topic ? -1 : 1));
  }

  async createTopics(topics: readonly TopicSettings[]): Promise<readonly string[]> {
    for (const { topic, partitions = 1 } of topics) check(topic, partitions);
    const existing = await this.cluster.topics();
    const missing = topics.filter(({ topic }) => !existing.has(topic));
    if (missing.length === 0) return [];
    const admin = this.client.kafka().admin();
    try {
      await admin.connect();
      await admin.createTopics({
        waitForLeaders: false, // kafkajs fails where the brokers do not know them yet
        topics: missing.map(({ topic, like = '', partitions, replicas, config = {} }) => {
          const model = existing.get(like);
          return {
            topic,
            numPartitions: partitions ?? model?.length ?? -1,
            replicationFactor: replicas ?? model?.[0]?.replicas.length ?? -1,
            configEntries: Object.entries(config).map(([name, value]) => ({ name, value })),
          };
        }),
      });
    } catch (error) {
      throw meant(error, `cannot create ${missing.map(({ topic }) => topic).join(', ')}`);
    } finally {
      await admin.disconnect();
    }
    for (const { topic } of missing) await this.cluster.partitions(topic, CREATED, CREATED);
    return missing.map(({ topic }) => topic);
  }

  ends(topic: string) {
    return this.cluster.ends(topic);
  }

  endsOfLed(topic: string) {
    return this.cluster.endsOfLed(topic);
  }

  offsetsAt(topic: string, time: number) {
    return this.cluster.offsetsAt(topic, time);
  }

  async read(topic: string, partition: number, offset: bigint) {
    const { messages } = await this.cluster.readFrom(topic, partition, offset, 1); // a message comes whole
    return messages.find((message) => message.offset === offset);
  }

  readFrom(topic: string, partition: number, offset: bigint, maxBytes: number) {
    return this.cluster.readFrom(topic, partition, offset, maxBytes);
  }

  committed(group: string, topic: string) {
    return this.cluster.committed(group, topic);
  }

  setCommitted(group: string, topic: string, offsets: readonly PartitionOffset[]) {
    return this.cluster.setCommitted(group, topic, offsets);
  }
}

function check(topic: string, partitions: number): void {
  if (!isTopicName(topic)) throw wrongValue('KQ_CONFIG', 'the topic', topic, TOPIC_NAMES);
  if (!Number.isSafeInteger(partitions) || partitions < 1)
    throw new KqError(
      'KQ_CONFIG',
      `the partitions of ${topic} are ${partitions}: expected a whole number from 1`,
    );
}
