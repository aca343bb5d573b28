// One partition, topic or broker in trouble, and all others continue.
import { tmpdir } from 'node:os';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { Kafka, logLevel, type Admin } from 'kafkajs';
import { systemClock } from 'nest-handlers/time';
import { KafkajsDriver } from 'nest-kq/src/driver/kafkajs/kafkajs-driver.js';
import type { ClientOptions, DriverFactory } from 'nest-kq/src/driver/client-options.js';
import type { LogDriver, LogProducer } from 'nest-kq/src/driver/driver.js';
import { eventually, startKafkaCluster, type KafkaServer } from 'test-servers';
import { createTopic } from 'test-servers/kafka-topic';
import type { KqDeadLetterPage } from 'nest-kq';
import { LogDeadLetters } from 'nest-kq/src/dead-letters/log-dead-letters.js';
import type { OutgoingMessage } from 'nest-kq/src/driver/message.js';
import { partitionOf } from 'nest-kq/src/driver/partitioning.js';
import { LogGroups } from 'nest-kq/src/groups/log-groups.js';
import { CommandHosts, type Ran } from '../cli/command-hosts.js';
import { failing, MemberUnderTest, message, stored } from '../contract/log-facts.js';
import { confluentDriver } from '../contract/log-harness.js';

const LIMIT = 120_000;
const ROUNDS = 20;
const silent = { debug: () => undefined, warn: () => undefined, error: () => undefined };

let servers: KafkaServer[];
let endpoints: string[];
let hosts: CommandHosts;
let admin: Admin;
beforeAll(async () => {
  servers = await startKafkaCluster();
  endpoints = servers.map(({ endpoint }) => endpoint);
  hosts = new CommandHosts('nest-kq', tmpdir(), { KQ_BROKERS: endpoints.join(',') });
  admin = new Kafka({ brokers: endpoints, logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  await createTopic(endpoints, { topic: 'orders', numPartitions: 6, replicationFactor: 3 });
}, LIMIT);
afterAll(async () => {
  hosts.stop();
  await admin.disconnect();
  for (const server of servers) await server.stop();
}, LIMIT);

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
}, LIMIT);

const byKafkajs: DriverFactory = (options) => new KafkajsDriver(options);
const DRIVERS = [
  ['kafkajs', byKafkajs],
  ...(confluentDriver ? [['confluent', confluentDriver] as const] : []),
] as const;

function open(over: Partial<ClientOptions> = {}, driverOf = byKafkajs): LogDriver {
  const driver = driverOf({ brokers: endpoints, clock: systemClock, log: silent, ...over });
  ends.push(() => driver.close());
  return driver;
}

async function join(driver: LogDriver, group: string, ...topics: string[]): Promise<MemberUnderTest> {
  return joinFrom('first', driver, group, ...topics);
}

async function joinFrom(from: 'first' | 'last', driver: LogDriver, group: string, ...topics: string[]) {
  const options = { group, topics, from, sessionTimeout: 6_000, heartbeatInterval: 300 } as const;
  const member = new MemberUnderTest(driver, options);
  await member.start();
  member.failures.length = 0; // a broker that has just begun does not know its groups for a while
  return member;
}

/** The command `nest-kq` as it was built. */
const nestKq = (args: readonly string[]): Promise<Ran> => hosts.run(args);

/** Sends one value to each of these partitions, and expects each to arrive once. */
async function sendsAndGets(
  producer: LogProducer,
  members: readonly MemberUnderTest[],
  topic: string,
  partitions: readonly number[],
  value: string,
): Promise<void> {
  const sending = partitions.map((partition) =>
    producer.send(topic, [message(`${value}/${partition}`, { partition })]),
  );
  for (const sent of await Promise.all(sending)) stored(sent);
  const values = () => members.flatMap((each) => each.values);
  await eventually(
    `${value} comes from ${partitions.join(' ')} of ${topic}`,
    () => partitions.every((partition) => values().includes(`${value}/${partition}`)),
    60_000,
  );
}

/** Brokers refuse messages while too few of the copies are in step. */
async function hasInStep(copies: number, topic: string): Promise<boolean> {
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
  return topics[0]!.partitions.every(({ isr }) => isr.length === copies);
}

/** Resolves with the partitions that have a leader, once this one has none. */
async function eventuallyLeaderless({ admin }: LogDriver, topic: string, partition: number) {
  let led: readonly number[] = [];
  await eventually(`${topic}/${partition} has no leader`, async () => {
    led = (await admin.endsOfLed(topic)).flatMap((ends, each) => (ends ? [each] : []));
    return !led.includes(partition);
  });
  return led;
}

async function leadersOf(topic: string): Promise<number[]> {
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
  return topics[0]!.partitions.toSorted((a, b) => a.partitionId - b.partitionId).map(({ leader }) => leader);
}

it.each(DRIVERS)(
  'continues with all others while a partition has no leader, joins, and reads that one once it has one, by %s',
  async (name, make) => {
    const replicaAssignment = servers.map(({ nodeId }, partition) => ({ partition, replicas: [nodeId] }));
    const [alone, group] = [`alone.${name}`, `leaderless.${name}`];
    await createTopic(endpoints, { topic: alone, replicaAssignment });
    const driver = open({}, make);
    const producer = driver.producer({ patience: 60_000 });
    const member = await join(driver, group, 'orders', alone);
    const orders = [0, 1, 2, 3, 4, 5];
    await sendsAndGets(producer, [member], 'orders', orders, 'before');
    await sendsAndGets(producer, [member], alone, [0, 1, 2], 'before');
    const victim = 1;
    await servers[victim]!.kill();
    await eventually('the member tells it', () => member.missing.length > 0);
    expect(member.missing).toEqual([{ topic: alone, partition: victim, why: 'leaderless' }]);
    const led = [0, 1, 2].filter((partition) => partition !== victim);
    await sendsAndGets(producer, [member], 'orders', orders, 'during');
    await sendsAndGets(producer, [member], alone, led, 'during');
    // As a process that is restarted: its first join. By a clock that stands still, no wait for a leader would end.
    const second = await join(
      open({ clock: { ...systemClock, now: () => 0 } }, make),
      group,
      'orders',
      alone,
    );
    await sendsAndGets(producer, [member, second], 'orders', orders, 'joined');
    await sendsAndGets(producer, [member, second], alone, led, 'joined');
    expect(member.failures).toEqual([]);
    const waiting = producer.send(alone, [message('waiting', { partition: victim })]);
    await servers[victim]!.restart();
    stored(await waiting);
    await eventually('it comes', () => [...member.values, ...second.values].includes('waiting'));
    await eventually('nothing is missing', () => member.missing.length + second.missing.length === 0);
  },
  LIMIT,
);

it.each(DRIVERS)(
  'begins at the end of all others while a partition has no leader, and at its first message once it has one: by %s',
  async (name, driverOf) => {
    const topic = `last.${name.length}`;
    const group = `last.${name.length}`;
    const replicaAssignment = servers.map(({ nodeId }, partition) => ({ partition, replicas: [nodeId] }));
    await createTopic(endpoints, { topic, replicaAssignment });
    const driver = open({}, driverOf);
    const producer = driver.producer({ patience: 60_000 });
    const send = async (value: string, ...partitions: readonly number[]) =>
      stored(
        await producer.send(
          topic,
          partitions.map((partition) => message(`${value}/${partition}`, { partition })),
        ),
      );
    await send('old', 0, 1, 2);
    const victim = 1;
    const led = [0, 2];
    await servers[victim]!.kill();
    const described = await eventuallyLeaderless(driver, topic, victim);
    expect(described).toEqual([0, 2]);
    const member = await joinFrom('last', driver, group, topic, 'orders');
    await send('new', ...led);
    await eventually('the new ones come', () => member.values.length === led.length);
    const view = await new LogGroups(
      driver.admin,
      () => [],
      () => undefined,
    ).group(group, [topic]);
    expect(view.topics[0]).toMatchObject({
      leaderless: [victim],
      partitions: [{ partition: 0 }, { partition: 2 }],
    });
    await servers[victim]!.restart();
    await send('back', victim);
    await eventually('it comes', () => member.values.includes(`back/${victim}`), 60_000);
    expect(member.values.toSorted()).toEqual(['back/1', 'new/0', 'new/2', 'old/1']);
    await member.stop(); // without a commit, as one that crashes
    const next = await joinFrom('last', driver, group, topic, 'orders');
    await eventually('all comes again', () => next.values.length === 4);
    expect(next.values.toSorted()).toEqual(['back/1', 'new/0', 'new/2', 'old/1']);
  },
  LIMIT,
);

/** A dead letter, of a message of this topic. */
function letter(topic: string, value: string, partition: number, key?: string): OutgoingMessage {
  const headers = { 'kq-topic': Buffer.from(topic), 'kq-error-message': Buffer.from('no stock') };
  return message(value, { partition, key: key === undefined ? null : Buffer.from(key), headers });
}

it.each(DRIVERS)(
  'lists, shows, replays and discards dead letters of all other partitions while one has no leader, and seeks there: by %s',
  async (name, driverOf) => {
    const [topic, dead, group] = [`sold.${name}`, `sold.${name}.kq-dead`, `letters.${name}`];
    const replicaAssignment = servers.map(({ nodeId }, partition) => ({ partition, replicas: [nodeId] }));
    for (const each of [topic, dead]) await createTopic(endpoints, { topic: each, replicaAssignment });
    const driver = open({}, driverOf);
    const lines: string[] = [];
    const note = (line: string) => void lines.push(line);
    const letters = new LogDeadLetters(driver.admin, driver.producer({ patience: 60_000 }), note);
    const groups = new LogGroups(driver.admin, () => [], note);
    const victim = 1;
    const keys = Array.from({ length: 50 }, (_, n) => `key-${n}`);
    const stuck = keys.find((key) => partitionOf(Buffer.from(key), 3) === victim)!;
    const producer = driver.producer({ patience: 60_000 });
    stored(
      await producer.send(dead, [
        letter(topic, 'stuck', 0, stuck),
        letter(topic, 'replayed', 0),
        letter(topic, 'unread', victim),
        letter(topic, 'shown', 2),
        letter(topic, 'discarded', 2),
      ]),
    );
    const valuesOf = async (page: KqDeadLetterPage) =>
      Promise.all(
        page.letters.map(async ({ partition, offset }) =>
          String((await letters.get(dead, { partition, offset }))!.value),
        ),
      );
    expect(await valuesOf(await letters.list(dead))).toHaveLength(5);
    await servers[victim]!.kill();
    await eventuallyLeaderless(driver, dead, victim);
    await eventuallyLeaderless(driver, topic, victim);

    for (const filter of [{}, { from: new Date(0) }]) {
      const page = await letters.list(dead, { filter });
      expect(page.leaderless).toEqual([victim]);
      expect((await valuesOf(page)).toSorted()).toEqual(['discarded', 'replayed', 'shown', 'stuck']);
    }
    expect(await letters.get(dead, { partition: 0, offset: 99 })).toBeUndefined();
    await expect(letters.get(dead, { partition: victim, offset: 0 })).rejects.toThrow(
      `KQ_AWAY: ${dead}/${victim} has no leader`,
    );
    expect(await letters.discard(dead, { partition: 2, offset: 1 })).toMatchObject({ count: 1 });
    const replayed = await letters.replay(dead, { from: new Date(0) });
    expect(replayed).toMatchObject({ count: 2, failed: 1, leaderless: [victim] });
    expect(replayed.failures).toMatchObject([
      { partition: 0, offset: '0', error: { message: `KQ_AWAY: ${topic}/${victim} has no leader` } },
    ]);
    expect(lines.at(-1)).toBe(
      `replayed 2 dead letters of ${dead}; 1 failed and stay; skipped: ${dead}/${victim} has no leader`,
    );

    const listed = await nestKq(['dead', 'list', dead]);
    expect(listed).toMatchObject({
      code: 1,
      stdout: expect.stringContaining(`${dead}/${victim} has no leader`),
    });
    const acted = await nestKq(['dead', 'replay', dead, '--yes', '--json']);
    expect([acted.code, JSON.parse(acted.stdout)]).toEqual([
      1,
      expect.objectContaining({ count: 0, failed: 1, leaderless: [victim] }),
    ]);

    expect(await groups.seek(group, topic, { to: new Date(0) })).toEqual({ 0: '0', 2: '0' });
    expect(lines.at(-1)).toContain(`keeps its position in ${topic}/${victim}: no leader knows the end`);

    await servers[victim]!.restart();
    await eventually('all are read', async () => !(await letters.list(dead)).leaderless, 60_000);
    expect((await valuesOf(await letters.list(dead))).toSorted()).toEqual(['stuck', 'unread']);
    await eventually(
      'all are replayed',
      async () =>
        (await letters.replay(dead, {})).count === 0 && (await letters.list(dead)).letters.length === 0,
      60_000,
    );
    const member = await join(driver, group, topic);
    await eventually('all messages come', () => member.values.length >= 4);
    expect(member.values.toSorted()).toEqual(['replayed', 'shown', 'stuck', 'unread']);
  },
  2 * LIMIT,
);

it.each(DRIVERS)(
  'continues with all others when a topic is deleted, and reads it from its first message once it is made again, by %s',
  async (name, make) => {
    const topic = `gone.${name}`;
    const gone = { topic, numPartitions: 2, replicationFactor: 3 };
    await createTopic(endpoints, gone);
    const driver = open({}, make);
    const producer = driver.producer({ patience: 60_000 });
    const member = await join(driver, `deleted.${name}`, 'orders', topic);
    await sendsAndGets(producer, [member], topic, [0, 1], 'old');
    await admin.deleteTopics({ topics: [topic] });
    await eventually('the member tells it', () => member.missing.length > 0);
    expect(member.missing).toEqual([{ topic, why: 'unknown' }]);
    await sendsAndGets(producer, [member], 'orders', [0, 1, 2, 3, 4, 5], 'without');
    await createTopic(endpoints, gone);
    await sendsAndGets(producer, [member], topic, [0, 1], 'new');
    await eventually('nothing is missing', () => member.missing.length === 0);
    expect(member.failures).toEqual([]);
  },
  LIMIT,
);

it.each(DRIVERS)(
  'refuses who joins its group by another client, and continues without a rebalance, by %s',
  async (name, make) => {
    const group = `mixed.${name}`;
    const driver = open({}, make);
    const member = await join(driver, group, 'orders');
    for (const [other, makeOther] of DRIVERS)
      if (other !== name)
        await expect(join(open({}, makeOther), group, 'orders')).rejects.toEqual(failing('KQ_CONFIG'));
    const producer = driver.producer({ patience: 60_000 });
    await sendsAndGets(producer, [member], 'orders', [0, 1, 2, 3, 4, 5], 'mixed');
    expect(member.rebalances).toEqual(['rejoining', expect.objectContaining({ continued: false })]);
  },
  LIMIT,
);

it(
  'answers pushes to the leaders that are well at once while another one stands still',
  async () => {
    const driver = open();
    const producer = driver.producer({ patience: 60_000 });
    const all = [0, 1, 2, 3, 4, 5];
    const send = (partition: number, value: string) =>
      producer.send('orders', [message(`${value}/${partition}`, { partition })]);
    for (const sent of await Promise.all(all.map((partition) => send(partition, 'before')))) stored(sent);
    const leaders = await leadersOf('orders');
    const victim = servers.find(({ nodeId }) => nodeId === leaders[0])!;
    const healthy = all.filter((partition) => leaders[partition] !== victim.nodeId);
    victim.freeze();
    let answered = false;
    const stuck = send(0, 'stuck').finally(() => (answered = true));
    for (let round = 0; round < ROUNDS; round++) {
      const sent = await Promise.all(healthy.map((partition) => send(partition, `round ${round}`)));
      for (const each of sent) stored(each);
    }
    expect(answered).toBe(false);
    victim.thaw();
    stored(await stuck);
    for (const each of await Promise.all(all.map((partition) => send(partition, 'after')))) stored(each);
    const reader = await join(driver, 'frozen', 'orders');
    await eventually('all is read', () =>
      all.every((partition) => reader.values.includes(`after/${partition}`)),
    );
    for (const partition of all) {
      const rounds = Array.from({ length: ROUNDS }, (_, round) => `round ${round}/${partition}`);
      const during = healthy.includes(partition) ? rounds : partition === 0 ? ['stuck/0'] : [];
      const values = reader.batches
        .filter((batch) => batch.partition === partition)
        .flatMap(({ messages }) => messages.map(({ value }) => String(value)));
      expect(values.filter((value) => /^(round|stuck|after)/.test(value))).toEqual([
        ...during,
        `after/${partition}`,
      ]);
    }
  },
  LIMIT,
);

it(
  'stores what a leader that stands still has not answered by the leader after it, whichever broker it asked first',
  async () => {
    await eventually('all copies are in step again', () => hasInStep(3, 'orders'), 60_000);
    const driver = open({ requestTimeout: 2_000 });
    const producers = servers.map(() => driver.producer({ patience: 60_000 })); // each begins by another broker
    const send = async (value: string) => {
      const sending = producers.map((producer, index) =>
        producer.send('orders', [message(`${value}/${index}`, { partition: 0 })]),
      );
      for (const sent of await Promise.all(sending)) stored(sent);
    };
    await send('first');
    const leaders = await leadersOf('orders');
    const victim = servers.find(({ nodeId }) => nodeId === leaders[0])!;
    victim.freeze();
    try {
      await send('meanwhile');
    } finally {
      victim.thaw();
    }
    await send('last');
    const reader = await join(open(), 'moved', 'orders');
    const all = (value: string) => producers.map((_, index) => `${value}/${index}`);
    await eventually('all is read', () => all('last').every((value) => reader.values.includes(value)));
    const values = reader.values.filter((value) => /^(first|meanwhile|last)[/]/.test(value));
    expect([values.slice(0, 3), values.slice(3, 6), values.slice(6)].map((each) => each.toSorted())).toEqual([
      all('first'),
      all('meanwhile'),
      all('last'),
    ]);
  },
  LIMIT,
);

it(
  'says why the brokers have not stored a message in time',
  async () => {
    const configEntries = [{ name: 'min.insync.replicas', value: '3' }];
    await createTopic(endpoints, { topic: 'strict', numPartitions: 1, replicationFactor: 3, configEntries });
    await servers[2]!.kill();
    await eventually('one copy is behind', () => hasInStep(2, 'strict'));
    await expect(
      open()
        .producer({ patience: 3_000 })
        .send('strict', [message('a')]),
    ).resolves.toEqual([
      expect.objectContaining({
        code: 'KQ_AWAY',
        message: expect.stringContaining('fewer in-sync replicas than required'),
      }),
    ]);
  },
  LIMIT,
);
