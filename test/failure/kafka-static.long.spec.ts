// Members that a group knows by name.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { systemClock } from 'nest-handlers/time';
import type { DriverFactory } from 'nest-kq/src/driver/client-options.js';
import { KafkajsDriver } from 'nest-kq/src/driver/kafkajs/kafkajs-driver.js';
import { eventually, startKafka, type KafkaServer } from 'test-servers';
import type { LogDriver } from 'nest-kq/src/driver/driver.js';
import { MemberUnderTest } from '../contract/log-facts.js';
import { confluentDriver, noteNotBuilt } from '../contract/log-harness.js';

const PATIENCE = 60_000;
const errors: string[] = [];
const log = {
  debug: () => undefined,
  warn: () => undefined,
  error: (message: string) => void errors.push(message),
};

const DRIVERS: readonly (readonly [name: string, open: DriverFactory | undefined])[] = [
  ['kafkajs', (options) => new KafkajsDriver(options)],
  ["Confluent's client", confluentDriver],
];

describe.each(DRIVERS)('named members by %s', (_, open) => {
  if (!open) return noteNotBuilt();
  let server: KafkaServer;
  let driver: LogDriver;
  let members: MemberUnderTest[];
  let group: string;
  let groups = 0;
  beforeAll(async () => {
    server = await startKafka();
    driver = open({ brokers: [server.endpoint], clock: systemClock, log });
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
    const options = {
      group,
      topics: ['orders'],
      from: 'first',
      heartbeatInterval: 100,
      sessionTimeout: 6_000,
    } as const;
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
    const before = first.rebalances.length;
    await second.stop(true);
    const again = await join('two');
    expect(again.partitions).toEqual(partitions);
    const confirmed = first.confirmations.length;
    await eventually(
      'the group has answered the other one',
      () => first.confirmations.length > confirmed + 1,
    );
    expect(first.rebalances).toHaveLength(before);
  }, 120_000);

  it('leave their group where they do not come back', async () => {
    const first = await join('one');
    const second = await join('two');
    await first.has(2);
    await second.stop();
    await first.has(4);
  }, 120_000);

  it('are refused where another one has their name, which is reported', async () => {
    const first = await join('one');
    const second = await join('one');
    // By Confluent's client it first hears that its partitions are lost, and then why.
    const refused = () => first.failures.some(({ code }) => code === 'KQ_CONFIG');
    await eventually('the first one is notified', refused, PATIENCE);
    await eventually('an error is logged', () => errors.length > 0, PATIENCE);
    expect(errors[0]).toMatch(/KQ_CONFIG: .*(instance id|groupInstanceId).*; rejoining in 30000 ms/);
    expect(second.partitions).toEqual([0, 1, 2, 3]);
  }, 120_000);
});
