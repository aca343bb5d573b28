// Members that a group knows by name: kafkajs has no such option.
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { systemClock } from 'nest-handlers/time';
import { KafkajsDriver } from 'nest-kq/src/driver/kafkajs/kafkajs-driver.js';
import { eventually, startKafka, type KafkaServer } from 'test-servers';
import { MemberUnderTest } from '../contract/log-facts.js';

const PATIENCE = 60_000;
const errors: string[] = [];
const log = {
  debug: () => undefined,
  warn: () => undefined,
  error: (message: string) => void errors.push(message),
};

let server: KafkaServer;
let driver: KafkajsDriver;
let members: MemberUnderTest[];
let group: string;
let groups = 0;
beforeAll(async () => {
  server = await startKafka();
  driver = new KafkajsDriver({ brokers: [server.endpoint], clock: systemClock, log });
  await driver.admin.createTopics([{ topic: 'orders', partitions: 4 }]);
}, 60_000);
afterAll(async () => {
  await driver.close();
  await server.stop();
}, 60_000);
beforeEach(() => {
  members = [];
  errors.length = 0;
  group = `shop.${groups++}`;
});
afterEach(() => Promise.all(members.map((member) => member.stop())));

async function join(groupInstanceId: string): Promise<MemberUnderTest> {
  const options = { group, topics: ['orders'], from: 'first', heartbeatInterval: 100 } as const;
  const member = new MemberUnderTest(driver, { ...options, groupInstanceId });
  members.push(member);
  await member.start();
  return member;
}

it('have their partitions again when they come back, and the others notice nothing', async () => {
  const first = await join('one');
  const second = await join('two');
  await first.has(2);
  await second.has(2);
  const { partitions } = second;
  const told = first.told.length;
  await second.stop(true);
  const again = await join('two');
  expect(again.partitions).toEqual(partitions);
  const confirmed = first.confirmations.length;
  await eventually('the group has answered the other one', () => first.confirmations.length > confirmed + 1);
  expect(first.told).toHaveLength(told);
}, 120_000);

it('leave their group where they do not come back', async () => {
  const first = await join('one');
  const second = await join('two');
  await first.has(2);
  await second.stop();
  await first.has(4);
}, 120_000);

it('are refused where another one has their name, which is told', async () => {
  const first = await join('one');
  const second = await join('one');
  await eventually('the first one is told', () => first.failures.length > 0, PATIENCE);
  expect(first.failures[0]).toMatchObject({ code: 'KQ_CONFIG' });
  await eventually('an operator is told', () => errors.length > 0, PATIENCE);
  expect(errors[0]).toMatch(/KQ_CONFIG: .*instance id.*; it joins again in 30000 ms/);
  expect(second.partitions).toEqual([0, 1, 2, 3]);
}, 120_000);
