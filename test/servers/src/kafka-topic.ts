import { Kafka, logLevel, type Admin, type ITopicConfig, type KafkaJSProtocolError } from 'kafkajs';
import { eventually } from './waiting.js';

/**
 * Creates a topic, and resolves when each broker knows a leader of each of its partitions. kafkajs waits for leaders, too, but
 * asks one broker only, and fails where that one has not heard of the topic yet.
 * @param endpoints of all brokers, as `host:port`
 */
export async function createTopic(endpoints: readonly string[], topic: ITopicConfig): Promise<void> {
  const admins = endpoints.map((endpoint) =>
    new Kafka({ brokers: [endpoint], logLevel: logLevel.NOTHING }).admin(),
  );
  try {
    await Promise.all(admins.map((admin) => admin.connect()));
    await admins[0]!.createTopics({ waitForLeaders: false, topics: [topic] });
    for (const admin of admins)
      await eventually(`a broker knows the leaders of ${topic.topic}`, () =>
        knowsLeaders(admin, topic.topic),
      );
  } finally {
    await Promise.all(admins.map((admin) => admin.disconnect()));
  }
}

async function knowsLeaders(admin: Admin, topic: string): Promise<boolean> {
  try {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
    return topics[0]!.partitions.every(({ leader }) => leader >= 0);
  } catch (error) {
    const { type } = error as Partial<KafkaJSProtocolError>;
    if (type === 'UNKNOWN_TOPIC_OR_PARTITION' || type === 'LEADER_NOT_AVAILABLE') return false;
    throw error;
  }
}
