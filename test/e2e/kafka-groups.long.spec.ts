// Acts of operators on the groups of an application, on a real broker.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ConsoleLogger } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { KqGroups, KqHealth, KqModule, KqPusher, TopicHandler } from 'nest-kq';
import { KafkajsDriver } from 'nest-kq/src/driver/kafkajs/kafkajs-driver.js';
import { systemClock } from 'nest-handlers/time';
import { eventually, startKafka, type KafkaServer } from 'test-servers';

const LIMIT = 120_000;
const silent = { debug: () => undefined, warn: () => undefined, error: () => undefined };

class Orders {
  readonly seen: string[] = [];

  @TopicHandler(['orders', 'mails'])
  handle(value: string): void {
    this.seen.push(value);
  }
}

let server: KafkaServer;
let apps: TestingModule[];
beforeAll(async () => {
  server = await startKafka();
  const driver = new KafkajsDriver({ brokers: [server.endpoint], clock: systemClock, log: silent });
  await driver.admin.createTopics([
    { topic: 'orders', partitions: 2 },
    { topic: 'mails', partitions: 1 },
  ]);
  await driver.close();
  apps = [];
}, LIMIT);
afterAll(async () => {
  for (const app of apps) await app.close();
  await server.stop();
}, LIMIT);

async function start(): Promise<TestingModule> {
  const logger = new ConsoleLogger('Kq', { logLevels: [] });
  const app = await Test.createTestingModule({
    imports: [KqModule.forRoot({ brokers: [server.endpoint], group: 'shop', commitEvery: 0, logger })],
    providers: [Orders],
  }).compile();
  apps.push(app);
  return app.init();
}

it(
  'pauses a topic over a rebalance, seeks while it runs, and refuses to while another process is in the group',
  async () => {
    const app = await start();
    const groups = app.get(KqGroups);
    const { seen } = app.get(Orders);
    const health = async () => (await app.get(KqHealth).check()).kq.groups['shop']!;
    groups.pause({ topic: 'orders' });
    for (const [value, timestamp] of [
      ['a', 1_000],
      ['b', 2_000],
    ] as const)
      await app.get(KqPusher).push('orders', value, { partition: 0, timestamp });

    const other = await start();
    const count = async () => Object.keys((await health()).partitions).length;
    await eventually('both have partitions', async () => [1, 2].includes(await count()));
    await expect(groups.seek('shop', 'mails', { to: 'first' })).rejects.toThrow(
      /^KQ_GROUP_BUSY: the group shop has 1 member: expected none; nothing was set; stop the other processes/,
    );
    await other.close();
    // The other one may have handled them, as it is not paused.
    await groups.seek('shop', 'orders', { to: 'first' });
    await app.get(KqPusher).push('mails', 'm');
    await eventually('the topic that is not paused continues', () => seen.includes('m'));
    await eventually('the lag is reported', async () => (await health()).lag === 2);
    expect(await health()).toMatchObject({ state: 'up', paused: ['orders'], partitions: { 'orders/0': 2 } });
    expect(seen).toEqual(['m']);

    groups.resume();
    await eventually('the paused topic resumes', () => seen.length === 3);
    expect(await groups.seek('shop', 'orders', { to: new Date(1_500) })).toMatchObject({ 0: '1' });
    await eventually('it begins at that time', () => seen.length === 4);
    await expect(groups.seek('shop', 'orders', { to: { 0: 3 } })).rejects.toMatchObject({
      code: 'KQ_BAD_OPTION',
    });
    await groups.seek('shop', 'orders', { to: { 0: 0 } });
    await eventually('it begins at that offset', () => seen.length === 6);
    expect(seen).toEqual(['m', 'a', 'b', 'b', 'a', 'b']);

    await eventually('all is committed', async () => (await groups.group('shop')).lag === 0);
    const { topics } = await groups.group('shop', ['orders']);
    expect(topics[0]!.partitions[0]).toEqual({ partition: 0, first: '0', end: '2', committed: '2', lag: 0 });
  },
  LIMIT,
);
