// An application of nest-kq on a real broker.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ConsoleLogger, Injectable, type Type } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { KqEvents, KqHealth, KqModule, KqPusher, TopicHandler, type KqEventMap } from 'nest-kq';
import { KafkajsDriver } from 'nest-kq/src/driver/kafkajs/kafkajs-driver.js';
import { systemClock } from 'nest-handlers/time';
import { eventually, startKafka, type KafkaServer } from 'test-servers';

const LIMIT = 120_000;
const silent = { debug: () => undefined, warn: () => undefined, error: () => undefined };

let server: KafkaServer;
let driver: KafkajsDriver;
beforeAll(async () => {
  server = await startKafka();
  driver = new KafkajsDriver({ brokers: [server.endpoint], clock: systemClock, log: silent });
  await driver.admin.createTopics([{ topic: 'orders', partitions: 3 }, { topic: 'mails' }]);
}, LIMIT);
afterAll(async () => {
  await driver.close();
  await server.stop();
}, LIMIT);

async function start(provider: Type): Promise<TestingModule> {
  const logger = new ConsoleLogger('Kq', { logLevels: [] });
  const app = await Test.createTestingModule({
    imports: [KqModule.forRoot({ brokers: [server.endpoint], group: 'shop', logger })],
    providers: [provider],
  }).compile();
  return app.init();
}

@Injectable()
class Orders {
  readonly seen = new Map<string, number[]>();

  @TopicHandler('orders')
  placed({ customer, nr }: { customer: string; nr: number }): void {
    this.seen.set(customer, [...(this.seen.get(customer) ?? []), nr]);
  }
}

it(
  'handles pushed messages in the order of their keys, commits at its end, and continues from there',
  async () => {
    const push = (app: TestingModule, from: number) => {
      const values = Array.from({ length: 300 }, (_, index) => ({
        customer: `c${index % 10}`,
        nr: from + index,
      }));
      return app.get(KqPusher).pushMany(
        'orders',
        values.map((value) => ({ value, key: value.customer })),
      );
    };
    const countOf = (app: TestingModule) => [...app.get(Orders).seen.values()].flat().length;
    for (const from of [0, 300]) {
      const app = await start(Orders);
      expect((await push(app, from)).filter(({ error }) => error)).toEqual([]);
      await eventually('all is handled', () => countOf(app) >= 300);
      const partitions = { 'orders/0': 0, 'orders/1': 0, 'orders/2': 0 };
      expect(await app.get(KqHealth).check('kq', { maxLag: 0 })).toEqual({
        kq: { status: 'up', groups: { shop: { state: 'up', lag: 0, partitions } } },
      });
      await app.close();
      const expected = (customer: number) =>
        Array.from({ length: 30 }, (_, index) => from + customer + 10 * index);
      for (let customer = 0; customer < 10; customer++)
        expect(app.get(Orders).seen.get(`c${customer}`)).toEqual(expected(customer));
    }
    const committed = await driver.admin.committed('shop', 'orders');
    expect(committed.reduce((sum, { offset = 0n }) => sum + offset, 0n)).toBe(600n);
  },
  LIMIT,
);

it(
  'reports which partitions a process gets and loses as others come and go',
  async () => {
    const partitionsOf = (app: TestingModule) => {
      const events: KqEventMap['rebalanced'][] = [];
      app
        .get(KqEvents)
        .on('rebalanced')
        .subscribe((event) => events.push(event));
      return events;
    };
    const first = await start(Orders);
    const ofFirst = partitionsOf(first);
    const second = await start(Orders);
    const shared = () => ofFirst.find(({ lost }) => lost.length > 0);
    await eventually('the first has lost some', () => shared() !== undefined);
    const { partitions, assigned, lost } = shared()!;
    expect(assigned).toEqual([]);
    expect([...partitions, ...lost].map(({ partition }) => partition).toSorted((a, b) => a - b)).toEqual([
      0, 1, 2,
    ]);
    const ofSecond = partitionsOf(second);
    await second.close();
    expect(ofSecond.at(-1)).toMatchObject({ group: 'shop', partitions: [], assigned: [] });
    await eventually('the first has all again', () => ofFirst.at(-1)!.partitions.length === 3);
    expect(ofFirst.at(-1)!.assigned).toHaveLength(lost.length);
    await first.close();
  },
  LIMIT,
);

it(
  'does not start with a missing topic, and says which there are',
  async () => {
    class Misspelt {
      @TopicHandler('order')
      placed(): void {}
    }
    await expect(start(Misspelt)).rejects.toThrow(
      /^KQ_UNKNOWN_TOPIC: Misspelt.placed \(in RootTestModule\): there is no topic 'order'; existing topics: mails, orders$/,
    );
  },
  LIMIT,
);
