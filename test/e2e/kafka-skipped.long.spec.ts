// Messages that the retention of their topic removes before a group has handled them.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ConsoleLogger, Injectable } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { Kafka, logLevel } from 'kafkajs';
import { KqEvents, KqModule, KqPusher, TopicHandler, type SkippedMessages } from 'nest-kq';
import { eventually, startKafka, type KafkaServer } from 'test-servers';
import { createTopic } from 'test-servers/kafka-topic';

const LIMIT = 120_000;
const TOPIC = 'orders';

let server: KafkaServer;
beforeAll(async () => {
  server = await startKafka();
  await createTopic([server.endpoint], { topic: TOPIC, numPartitions: 1 });
}, LIMIT);
afterAll(() => server.stop(), LIMIT);

@Injectable()
class Handlers {
  readonly seen: number[] = [];

  @TopicHandler(TOPIC)
  handle(value: number): void {
    this.seen.push(value);
  }
}

async function compile(): Promise<TestingModule> {
  const logger = new ConsoleLogger('Kq', { logLevels: [] });
  return Test.createTestingModule({
    imports: [KqModule.forRoot({ brokers: [server.endpoint], group: 'shop', commitEvery: 0, logger })],
    providers: [Handlers],
  }).compile();
}

/** Removes what lies before an offset, as the retention of a topic does. */
async function forget(offset: number): Promise<void> {
  const admin = new Kafka({ brokers: [server.endpoint], logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  await admin.fetchTopicOffsets(TOPIC); // it has to know the topic
  await admin.deleteTopicRecords({ topic: TOPIC, partitions: [{ partition: 0, offset: String(offset) }] });
  await admin.disconnect();
}

const numbers = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => ({ value: from + index }));

it(
  'are reported with the offsets that are gone, and the group continues after them',
  async () => {
    const first = await compile();
    await first.init();
    await first.get(KqPusher).pushMany(TOPIC, numbers(0, 5));
    await eventually('five are handled', () => first.get(Handlers).seen.length === 5);
    await first.close();
    const pusher = await compile();
    await pusher.get(KqPusher).pushMany(TOPIC, numbers(5, 10));
    await pusher.close();
    await forget(8);
    const second = await compile();
    const skipped: SkippedMessages[] = [];
    second
      .get(KqEvents)
      .on('skipped')
      .subscribe((event) => skipped.push(event));
    await second.init();
    await eventually('the rest is handled', () => second.get(Handlers).seen.length === 2);
    expect(second.get(Handlers).seen).toEqual([8, 9]);
    expect(skipped).toEqual([{ group: 'shop', topic: TOPIC, partition: 0, from: '5', to: '8', count: 3 }]);
    await second.close();
  },
  LIMIT,
);
