// Where a member's messages come from: its own rack.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { systemClock } from 'nest-handlers/time';
import { KafkajsDriver } from 'nest-kq/src/driver/kafkajs/kafkajs-driver.js';
import type { LogDriver } from 'nest-kq/src/driver/driver.js';
import { eventually, startKafkaCluster, type KafkaServer } from 'test-servers';
import { createTopic } from 'test-servers/kafka-topic';
import { MemberUnderTest, message, stored } from '../contract/log-facts.js';
import { confluentDriver, noteNotBuilt } from '../contract/log-harness.js';

const LIMIT = 120_000;
/** Together more than a member fetches ahead. */
const MESSAGES = 64;
const BYTES = 1_000_000;
const log = { debug: () => undefined, warn: () => undefined, error: () => undefined };

it('is refused where the driver cannot', () => {
  const open = () => new KafkajsDriver({ brokers: ['a:1'], clock: systemClock, log, rack: 'rack-1' });
  expect(open).toThrow("KQ_CONFIG: `rack` is 'rack-1': expected none");
});

describe("a member by Confluent's client", () => {
  if (!confluentDriver) return noteNotBuilt();
  const open = confluentDriver;
  let servers: KafkaServer[];
  let driver: LogDriver;
  beforeAll(async () => {
    servers = await startKafkaCluster({
      properties: {
        'replica.selector.class': 'org.apache.kafka.common.replica.RackAwareReplicaSelector',
        'broker.session.timeout.ms': String(LIMIT), // so that a leader which stands still stays the leader
      },
    });
    driver = open({
      brokers: servers.map(({ endpoint }) => endpoint),
      clock: systemClock,
      log,
      rack: 'rack-2',
    });
  }, LIMIT);
  afterAll(async () => {
    await driver.close();
    for (const server of servers) await server.stop();
  }, LIMIT);

  it(
    'reads from the replica in its rack, while the leader stands still',
    async () => {
      await createTopic(
        servers.map(({ endpoint }) => endpoint),
        { topic: 'orders', replicaAssignment: [{ partition: 0, replicas: [1, 2] }] },
      );
      const producer = driver.producer();
      const value = 'x'.repeat(BYTES);
      for (let sent = 0; sent < MESSAGES; sent++)
        stored(await producer.send('orders', [message(value, { partition: 0 })]));
      const member = new MemberUnderTest(driver, { group: 'near', topics: ['orders'], from: 'first' });
      await member.start();
      await eventually('one has come', () => member.messages.length > 0);
      member.pause('orders', 0);
      servers[0]!.freeze();
      try {
        const before = member.messages.length;
        member.resume('orders', 0);
        await eventually('all have come', () => member.messages.length === MESSAGES, 30_000);
        expect(before).toBeLessThan(MESSAGES);
      } finally {
        servers[0]!.thaw();
      }
      await member.stop();
    },
    LIMIT,
  );
});
