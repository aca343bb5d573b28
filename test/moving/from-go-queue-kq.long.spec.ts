// kq's own scenario, as docs/kq/from-go-queue.md has it, on three brokers.
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { ConsoleLogger, type Type } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { KafkajsDriver } from 'nest-kq/src/driver/kafkajs/kafkajs-driver.js';
import { systemClock } from 'nest-handlers/time';
import { eventually, startKafkaCluster, type KafkaServer } from 'test-servers';

const LIMIT = 180_000;
const silent = { debug: () => undefined, warn: () => undefined, error: () => undefined };

let brokers: KafkaServer[] = [];
const before = process.env['BROKERS'];
beforeAll(async () => {
  brokers = await startKafkaCluster();
  const endpoints = brokers.map(({ endpoint }) => endpoint);
  const driver = new KafkajsDriver({ brokers: endpoints, clock: systemClock, log: silent });
  await driver.admin.createTopics([{ topic: 'kq', partitions: 3 }]);
  await driver.close();
  process.env['BROKERS'] = endpoints.join();
}, LIMIT);
afterAll(async () => {
  if (before === undefined) delete process.env['BROKERS'];
  else process.env['BROKERS'] = before;
  await Promise.all(brokers.map((broker) => broker.stop()));
}, LIMIT);

async function start(module: Type): Promise<TestingModule> {
  const logger = new ConsoleLogger({ logLevels: [] });
  const app = await Test.createTestingModule({ imports: [module] })
    .setLogger(logger)
    .compile();
  return app.init();
}

it(
  'handles earlier messages with two consumers of one group, and continues when one of the three brokers dies',
  async () => {
    const { ConsumerModule, Producer, ProducerModule } = await import('./from-go-queue-kq.js');
    const log = jest.spyOn(console, 'log').mockReturnValue(undefined);
    const rounds = () => log.mock.calls.map(([, { value }]) => Number.parseInt(value, 10));
    const producer = await start(ProducerModule);
    await producer.get(Producer).rounds();
    const consumers = [await start(ConsumerModule), await start(ConsumerModule)];
    try {
      const all = () => new Set(rounds()).size === 3;
      await eventually('three rounds are handled', all, LIMIT);
      const text = expect.any(String);
      expect(log.mock.calls[0]).toEqual(['=>', { key: text, value: text, payload: text }]);
      log.mockClear();
      await brokers[0]!.kill();
      await producer.get(Producer).rounds();
      await eventually('three more are handled', all, LIMIT);
    } finally {
      await Promise.all([producer, ...consumers].map((app) => app.close()));
      log.mockRestore();
    }
  },
  LIMIT,
);
