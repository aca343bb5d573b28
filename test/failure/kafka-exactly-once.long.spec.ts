// Processes that are killed in the middle of a transaction, on a real broker: each message has one result all the same.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { systemClock } from 'nest-handlers/time';
import { KafkajsDriver } from 'nest-kq/src/driver/kafkajs/kafkajs-driver.js';
import { eventually, startKafka, type KafkaServer } from 'test-servers';
import { MemberUnderTest, message, stored } from '../contract/log-facts.js';
import { startProgram } from '../support/program.js';

/** A session that ends, and joining, on a machine that is busy. */
const PATIENCE = 60_000;
const silent = { debug: () => undefined, warn: () => undefined, error: () => undefined };

let server: KafkaServer;
let driver: KafkajsDriver;
beforeAll(async () => {
  server = await startKafka();
  driver = new KafkajsDriver({ brokers: [server.endpoint], clock: systemClock, log: silent });
}, 60_000);
afterAll(async () => {
  await driver.close();
  await server.stop();
}, 60_000);

it('has one result for each message, even where processes die in their transactions', async () => {
  await driver.admin.createTopics(['orders', 'results'].map((topic) => ({ topic, partitions: 1 })));
  const values = Array.from({ length: 30 }, (_, n) => String(n));
  const orders = values.map((value) => message(JSON.stringify(value)));
  stored(await driver.producer().send('orders', orders));
  const pushed: string[] = [];
  const start = (stuck?: string) => {
    const flow = { group: 'flow', orders: 'orders', results: 'results' };
    const argument = { ...flow, brokers: [server.endpoint], transactionalId: 'shop', stuck };
    return startProgram('support/exactly-once-process.mjs', JSON.stringify(argument), (line) =>
      pushed.push(JSON.parse(line) as string),
    );
  };
  for (const stuck of ['10', '20']) {
    const { child, ended } = start(stuck);
    await eventually(`the result of ${stuck} is pushed`, () => pushed.at(-1) === stuck, PATIENCE);
    child.kill('SIGKILL');
    await ended;
  }
  start();
  await eventually('the last result is pushed', () => pushed.at(-1) === '29', PATIENCE);
  const reader = new MemberUnderTest(driver, { group: 'reader', topics: ['results'], from: 'first' });
  await reader.start();
  await eventually('all results are seen', () => reader.values.at(-1) === '"29"', PATIENCE);
  expect(reader.values).toEqual(values.map((value) => JSON.stringify(value)));
  for (const stuck of ['10', '20'])
    expect(pushed.filter((value) => value === stuck).length).toBeGreaterThanOrEqual(2);
  await eventually('all is committed', async () => {
    const [committed] = await driver.admin.committed('flow', 'orders');
    return committed?.offset === 30n;
  });
}, 240_000);
