// Failures between a process and the broker while a transaction commits: each message has one result all the same.
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { Kafka, logLevel, type Admin } from 'kafkajs';
import { systemClock } from 'nest-handlers/time';
import { KafkajsDriver } from 'nest-kq/src/driver/kafkajs/kafkajs-driver.js';
import { eventually, startKafka, type KafkaServer } from 'test-servers';
import { MemberUnderTest, message, stored } from '../contract/log-facts.js';
import { KafkaProxy, REQUESTS } from '../support/kafka-proxy.js';
import { startProgram, type Program } from '../support/program.js';

/** A session that ends, and joining, on a machine that is busy. */
const PATIENCE = 60_000;
const VALUES = ['0', '1', '2', '3', '4'];
const silent = { debug: () => undefined, warn: () => undefined, error: () => undefined };

let proxy: KafkaProxy;
let server: KafkaServer;
let driver: KafkajsDriver;
let admin: Admin;
beforeAll(async () => {
  proxy = await KafkaProxy.start();
  server = await startKafka({ advertised: proxy.endpoint });
  proxy.lead(server);
  driver = new KafkajsDriver({ brokers: [proxy.endpoint], clock: systemClock, log: silent });
  admin = new Kafka({ brokers: [proxy.endpoint], logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
}, 60_000);
afterAll(async () => {
  await admin.disconnect();
  await driver.close();
  await server.stop();
  await proxy.stop();
}, 60_000);

/** Group and topics of the current test. */
let flow: { readonly group: string; readonly orders: string; readonly results: string };
let flows = 0;
beforeEach(async () => {
  flows++;
  flow = { group: `flow.${flows}`, orders: `orders.${flows}`, results: `results.${flows}` };
  await driver.admin.createTopics([flow.orders, flow.results].map((topic) => ({ topic, partitions: 1 })));
  await order(...VALUES);
});

async function order(...values: readonly string[]): Promise<void> {
  const messages = values.map((value) => message(JSON.stringify(value)));
  stored(await driver.producer().send(flow.orders, messages));
}

interface Shop extends Program {
  /** The messages whose results it pushed, in its transactions. */
  readonly pushed: readonly string[];
}

function start(transactionalId = flow.group): Shop {
  const argument = { ...flow, brokers: [proxy.endpoint], transactionalId };
  const pushed: string[] = [];
  const program = startProgram('support/exactly-once-process.mjs', JSON.stringify(argument), (line) =>
    pushed.push(JSON.parse(line) as string),
  );
  return { ...program, pushed };
}

/** Reads as any reader of committed results does. */
async function seesResults(...values: readonly string[]): Promise<void> {
  const group = `${flow.group}.reader`;
  const reader = new MemberUnderTest(driver, { group, topics: [flow.results], from: 'first' });
  await reader.start();
  const end = 'all results are seen';
  await eventually(end, () => reader.values.length >= values.length, PATIENCE);
  expect(reader.values).toEqual(values.map((value) => JSON.stringify(value)));
  await reader.stop();
  await eventually('all is committed', async () => {
    const [committed] = await driver.admin.committed(flow.group, flow.orders);
    return committed?.offset === BigInt(values.length);
  });
}

async function member(): Promise<string | undefined> {
  const { groups } = await admin.describeGroups([flow.group]);
  const { state, members } = groups[0]!;
  return state === 'Stable' ? members[0]?.memberId : undefined;
}

it('has one result where the answer to a commit is lost, and runs nothing again', async () => {
  const committing = proxy.stops(REQUESTS.endTxn);
  const shop = start();
  await (await committing).loseAnswer();
  await eventually('it continues', () => shop.pushed.at(-1) === VALUES.at(-1), PATIENCE);
  await seesResults(...VALUES);
  expect(shop.pushed.filter((value) => value === '0')).toHaveLength(1);
}, 180_000);

it('has one result where the broker never gets the commit', async () => {
  const committing = proxy.stops(REQUESTS.endTxn);
  const shop = start();
  (await committing).lose();
  await eventually('it continues', () => shop.pushed.at(-1) === VALUES.at(-1), PATIENCE);
  await seesResults(...VALUES);
  expect(shop.pushed.slice(0, 2)).toEqual(['0', '0']);
}, 180_000);

it('has one result where a process is killed between the offsets and the commit', async () => {
  const committing = proxy.stops(REQUESTS.endTxn);
  const { child, ended } = start();
  await committing;
  child.kill('SIGKILL');
  await ended;
  const next = start();
  await eventually('the next one continues', () => next.pushed.at(-1) === VALUES.at(-1), PATIENCE);
  await seesResults(...VALUES);
  expect(next.pushed[0]).toBe('0');
}, 180_000);

it('has one result where a process stands still before its offsets, until another one has taken over', async () => {
  const sending = proxy.stops(REQUESTS.txnOffsetCommit);
  const frozen = start('frozen');
  const offsets = await sending;
  frozen.child.kill('SIGSTOP');
  const next = start('next');
  await eventually('the next one continues', () => next.pushed.at(-1) === VALUES.at(-1), PATIENCE);
  offsets.pass();
  frozen.child.kill('SIGCONT');
  await seesResults(...VALUES);
  expect(next.pushed[0]).toBe('0');
}, 180_000);

it('has one result where a process stands still between the offsets and the commit, and others wait for that', async () => {
  const committing = proxy.stops(REQUESTS.endTxn);
  const frozen = start('frozen');
  const commit = await committing;
  const before = await member();
  frozen.child.kill('SIGSTOP');
  const next = start('next');
  const joined = 'the next one is the member';
  await eventually(joined, async () => ![undefined, before].includes(await member()), PATIENCE);
  expect(next.pushed).toEqual([]);
  commit.pass();
  await eventually('the next one continues', () => next.pushed.at(-1) === VALUES.at(-1), PATIENCE);
  frozen.child.kill('SIGCONT');
  await seesResults(...VALUES);
  expect(next.pushed).not.toContain('0');
}, 180_000);
