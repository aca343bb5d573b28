// Brokers that are away, or die: nothing that was answered is lost, and nothing comes twice that need not.
import { afterEach, expect, it } from '@jest/globals';
import { KafkajsDriver } from 'nest-kq/src/driver/kafkajs/kafkajs-driver.js';
import type { ClientOptions } from 'nest-kq/src/driver/client-options.js';
import { systemClock } from 'nest-handlers/time';
import { eventually, startKafka, startKafkaCluster, type KafkaServer } from 'test-servers';
import { failing, MemberUnderTest, message, stored } from '../contract/log-facts.js';

const TOPIC = 'orders';
const LIMIT = 240_000;
const KEYS = 20;

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

async function start(starting: Promise<KafkaServer[]>): Promise<KafkaServer[]> {
  const servers = await starting;
  for (const server of servers) ends.push(() => server.stop());
  return servers;
}

function open(servers: readonly KafkaServer[], over: Partial<ClientOptions> = {}) {
  const logged: string[] = [];
  const tell = (text: string) => void logged.push(text);
  const log = { debug: () => undefined, warn: tell, error: tell };
  const brokers = servers.map(({ endpoint }) => endpoint);
  const driver = new KafkajsDriver({ brokers, clock: systemClock, log, ...over });
  ends.push(() => driver.close());
  return { driver, logged };
}

function join(driver: KafkajsDriver) {
  const member = new MemberUnderTest(driver, {
    group: 'readers',
    topics: [TOPIC],
    from: 'first',
    sessionTimeout: 6_000,
    heartbeatInterval: 300,
  });
  return { member, started: member.start() };
}

/** Sends numbers in turn for each key until it is stopped, and one round more. */
function sending(driver: KafkajsDriver) {
  const producer = driver.producer({ patience: 60_000 });
  let stopped = false;
  let rounds = 0;
  const round = async () => {
    const messages = Array.from({ length: KEYS }, (_, key) =>
      message(`${key}:${rounds}`, { key: Buffer.from(`${key}`) }),
    );
    stored(await producer.send(TOPIC, messages));
    rounds++;
  };
  const done = (async () => {
    while (!stopped) await round();
    await round();
    return rounds;
  })();
  const rounded = (more: number) => {
    const end = rounds + more;
    return eventually(`${more} more rounds are stored`, () => rounds >= end, 60_000);
  };
  const stop = () => {
    stopped = true;
    return done;
  };
  return { rounded, stop };
}

/** By key, in the order of their offsets: each number once, and in order. */
function checkLog(member: MemberUnderTest, rounds: number): void {
  const byOffset = new Map<string, string>();
  for (const { partition, messages } of member.batches)
    for (const { offset, value } of messages) byOffset.set(`${partition}/${offset}`, String(value));
  const places = [...byOffset.keys()].map((key) => key.split('/').map(Number) as [number, number]);
  const values = places
    .toSorted(([p, a], [q, b]) => p - q || a - b)
    .map(([partition, offset]) => byOffset.get(`${partition}/${offset}`));
  for (let key = 0; key < KEYS; key++) {
    const numbers = values
      .filter((value) => value?.startsWith(`${key}:`))
      .map((value) => Number(value?.split(':')[1]));
    expect(numbers).toEqual(Array.from({ length: rounds }, (_, n) => n));
  }
}

async function receivesAll(member: MemberUnderTest, rounds: number): Promise<void> {
  const seen = () => new Set(member.values).size;
  await eventually(`${rounds * KEYS} messages come, not ${seen()}`, () => seen() === rounds * KEYS, 150_000);
}

it(
  'continues when the broker was killed and is back: all is stored once, in order, and read',
  async () => {
    const [server] = await start(startKafka().then((server) => [server]));
    const { driver } = open([server!]);
    await driver.admin.createTopics([{ topic: TOPIC, partitions: 4 }]);
    const { member, started } = join(driver);
    await started;
    const { rounded, stop } = sending(driver);
    await rounded(20);
    await server!.kill();
    await server!.restart();
    await rounded(20);
    const rounds = await stop();
    await receivesAll(member, rounds);
    checkLog(member, rounds);
  },
  LIMIT,
);

it(
  'continues when the leader of three is killed: all is stored, in order, and read',
  async () => {
    const servers = await start(startKafkaCluster());
    const { driver } = open(servers);
    await driver.admin.createTopics([{ topic: TOPIC, partitions: 3 }]);
    const { member, started } = join(driver);
    await started;
    const { rounded, stop } = sending(driver);
    await rounded(20);
    for (const server of servers.slice(0, 2)) {
      await server.kill();
      await rounded(20);
      await server.restart();
      await rounded(5);
    }
    const rounds = await stop();
    await receivesAll(member, rounds);
    checkLog(member, rounds);
  },
  LIMIT,
);

it(
  'waits for brokers that are away at the start, and reports it',
  async () => {
    const [server] = await start(startKafka().then((server) => [server]));
    const first = open([server!]).driver;
    await first.admin.createTopics([{ topic: TOPIC, partitions: 1 }]);
    await first.close();
    await server!.kill();
    const { driver, logged } = open([server!]);
    const { member, started } = join(driver);
    const sent = driver.producer({ patience: LIMIT }).send(TOPIC, [message('a')]);
    await eventually('both have reported it', () => logged.length > 0 && member.failures.length > 1);
    expect(logged[0]).toContain('cannot connect to Kafka; retrying: Connection error: connect ECONNREFUSED');
    expect(member.failures[0]).toEqual(failing('KQ_AWAY'));
    await server!.restart();
    await expect(sent).resolves.toEqual([{ partition: 0, offset: 0n }]);
    await started;
    await member.receives(1);
    expect(logged).toContain('reconnected to Kafka');
  },
  LIMIT,
);

it(
  'gives up after its patience, and knows that it has stored nothing where it never had a connection',
  async () => {
    const [server] = await start(startKafka().then((server) => [server]));
    await server!.kill();
    const { driver } = open([server!]);
    const producer = driver.producer({ patience: 300 });
    const sent = await producer.send(TOPIC, [message('a'), message('b')]);
    expect(sent).toEqual([failing('KQ_AWAY'), failing('KQ_AWAY')]);
    expect(sent[0]).toMatchObject({ indeterminate: false, message: expect.stringContaining('ECONNREFUSED') });
    await expect(driver.producer({ transactionalId: 't', patience: 300 }).transaction()).rejects.toEqual(
      failing('KQ_AWAY'),
    );
  },
  LIMIT,
);

it(
  'is stopped while it waits for brokers',
  async () => {
    const [server] = await start(startKafka().then((server) => [server]));
    await server!.kill();
    const { driver } = open([server!]);
    const { member, started } = join(driver);
    const failed = expect(started).rejects.toEqual(failing('KQ_CLOSED'));
    await eventually('it has tried', () => member.failures.length > 0);
    await member.stop();
    await failed;
    await driver.close();
  },
  LIMIT,
);
