import { startKafka } from 'test-servers';
import type { StreamClient, StreamLibrary } from './client.js';
import { kafkaOf } from './kafka-js.js';

const PARTITIONS = 8;

/** A broker of its own, and the topics of a measure. */
export interface Broker {
  readonly endpoint: string;
  /** Creates a topic with eight partitions. Resolves with its name. */
  newTopic(): Promise<string>;
  /** Connects each library once. */
  connect(library: StreamLibrary): Promise<StreamClient>;
}

/** Calls `use` with a broker; what was connected is closed after it. */
export async function withBroker<T>(use: (broker: Broker) => Promise<T>): Promise<T> {
  const server = await startKafka();
  const clients = new Map<StreamLibrary, Promise<StreamClient>>();
  const admin = kafkaOf(server.endpoint).admin();
  let topics = 0;
  try {
    await admin.connect();
    return await use({
      endpoint: server.endpoint,
      async newTopic() {
        const topic = `topic-${++topics}`;
        await admin.createTopics({ waitForLeaders: true, topics: [{ topic, numPartitions: PARTITIONS }] });
        return topic;
      },
      connect(library) {
        const client = clients.get(library) ?? library.connect(server.endpoint);
        clients.set(library, client);
        return client;
      },
    });
  } finally {
    for (const client of clients.values()) await (await client).close();
    await admin.disconnect();
    await server.stop();
  }
}
