// A process whose way to the brokers drops all bytes: its group gives its partitions to others, and it cannot hear of it.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ConsoleLogger } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { KqEvents, KqHealth, KqModule, KqPusher, TopicHandler, type KqEventMap } from 'nest-kq';
import { KafkajsDriver } from 'nest-kq/src/driver/kafkajs/kafkajs-driver.js';
import { systemClock } from 'nest-handlers/time';
import { eventually, Proxy, startKafka, type KafkaServer } from 'test-servers';

const LIMIT = 120_000;
/** Less than a broker may take to answer a heartbeat, after which it would be known anyway. */
const TOLD_WITHIN = 20_000;
/** A session that ends, and joining, on a machine that is busy. */
const PATIENCE = 60_000;
const silent = { debug: () => undefined, warn: () => undefined, error: () => undefined };

let server: KafkaServer;
let proxy: Proxy;
beforeAll(async () => {
  proxy = await Proxy.to({ host: '127.0.0.1', port: 0 });
  server = await startKafka({ advertised: proxy.endpoint });
  proxy.lead(server);
  const driver = new KafkajsDriver({ brokers: [proxy.endpoint], clock: systemClock, log: silent });
  await driver.admin.createTopics([{ topic: 'orders', partitions: 2 }]);
  await driver.close();
}, LIMIT);
afterAll(async () => {
  await proxy.stop();
  await server.stop();
}, LIMIT);

it(
  'is not up, says that it has left the group, and comes back',
  async () => {
    const seen: string[] = [];
    class Orders {
      @TopicHandler('orders')
      handle(value: string): void {
        seen.push(value);
      }
    }
    const logger = new ConsoleLogger('Kq', { logLevels: [] });
    const options = { brokers: [proxy.endpoint], group: 'shop', sessionTimeout: '6s', logger } as const;
    const app = await Test.createTestingModule({
      imports: [KqModule.forRoot(options)],
      providers: [Orders],
    }).compile();
    const left: KqEventMap['groupLeft'][] = [];
    app
      .get(KqEvents)
      .on('groupLeft')
      .subscribe((event) => left.push(event));
    await app.init();
    const health = async () => (await app.get(KqHealth).check()).kq;
    await eventually('it is in its group', async () => (await health()).status === 'up', PATIENCE);
    left.length = 0; // a broker that has just begun may not take it at first
    proxy.swallow();
    await eventually('it says that it has left', () => left.length > 0, TOLD_WITHIN);
    expect(left[0]).toMatchObject({ group: 'shop', error: { code: 'KQ_AWAY' } });
    expect(await health()).toMatchObject({
      status: 'down',
      groups: { shop: { state: expect.stringContaining('has not answered this process'), partitions: {} } },
    });
    proxy.restore();
    await eventually('it is in its group again', async () => (await health()).status === 'up', PATIENCE);
    await app.get(KqPusher).push('orders', 'after');
    await eventually('it handles what comes', () => seen.includes('after'), PATIENCE);
    await app.close();
  },
  LIMIT,
);
