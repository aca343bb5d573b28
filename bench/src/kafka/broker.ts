import { startKafka } from 'test-servers';
import { createTopic } from 'test-servers/kafka-topic';

const PARTITIONS = 8;

/** A broker of its own, and the topics of a measure. */
export interface Broker {
  readonly endpoint: string;
  /** Creates a topic with eight partitions. Resolves with its name. */
  readonly newTopic: () => Promise<string>;
}

/** Calls `use` with a broker. */
export async function withBroker<T>(use: (broker: Broker) => Promise<T>): Promise<T> {
  const server = await startKafka();
  let topics = 0;
  try {
    return await use({
      endpoint: server.endpoint,
      async newTopic() {
        const topic = `topic-${++topics}`;
        await createTopic([server.endpoint], { topic, numPartitions: PARTITIONS });
        return topic;
      },
    });
  } finally {
    await server.stop();
  }
}
