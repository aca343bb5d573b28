import { Kafka, logLevel, type Consumer, type Producer } from 'kafkajs';
import { newGroup, type Handle, type StreamClient, type StreamLibrary } from './client.js';
import type { Message } from './messages.js';

type How = 'eachMessage' | 'eachBatch';

/** As its documentation shows it. With `eachBatch`, the loop over the messages is the user's, without a heartbeat for each. */
export function kafkaJs(how: How): StreamLibrary {
  return {
    async connect(endpoint) {
      const kafka = kafkaOf(endpoint);
      const producer = kafka.producer();
      await producer.connect();
      return new KafkaJsClient(kafka, producer, how);
    },
  };
}

function kafkaOf(endpoint: string): Kafka {
  return new Kafka({ brokers: [endpoint], clientId: 'bench', logLevel: logLevel.ERROR });
}

/** Resolves when the consumer has its partitions. */
export async function joined(consumer: Consumer, run: () => Promise<void>): Promise<void> {
  const inGroup = new Promise<void>((resolve) => consumer.on('consumer.group_join', () => resolve()));
  await run();
  await inGroup;
}

class KafkaJsClient implements StreamClient {
  constructor(
    private readonly kafka: Kafka,
    private readonly producer: Producer,
    private readonly how: How,
  ) {}

  push(topic: string, message: Message): Promise<unknown> {
    return this.producer.send({ topic, messages: [{ key: message.key, value: JSON.stringify(message) }] });
  }

  async consume(topic: string, handle: Handle): Promise<() => Promise<void>> {
    const consumer = this.kafka.consumer({ groupId: newGroup() });
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    await joined(consumer, () =>
      this.how === 'eachMessage'
        ? consumer.run({
            eachMessage: async ({ message }) => {
              await handle(JSON.parse(message.value!.toString()) as Message);
            },
          })
        : consumer.run({
            eachBatch: async ({ batch }) => {
              for (const { value } of batch.messages) {
                const handled = handle(JSON.parse(value!.toString()) as Message);
                if (handled instanceof Promise) await handled;
              }
            },
          }),
    );
    return () => consumer.disconnect();
  }

  close(): Promise<void> {
    return this.producer.disconnect();
  }
}
