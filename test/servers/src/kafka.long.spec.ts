import { once } from 'node:events';
import { createServer, type Server as Listener } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Kafka, logLevel, type Consumer, type KafkaConfig, type SASLOptions } from 'kafkajs';
import { makeCertificate } from './certificate.js';
import { askMetadata } from './kafka-metadata.js';
import { portForOthers } from './kafka-properties.js';
import { createTopic } from './kafka-topic.js';
import { startKafka, startKafkaCluster, type KafkaServer } from './kafka.js';
import { places, type Place } from './place.js';
import { eventually, within } from './waiting.js';

/** Milliseconds. A machine that does much else may need a quarter of it for one broker. */
const LIMIT = 120_000;
/** Where Kafka looks for a place. */
const PORTS = { first: 20_000, last: 22_698 };
const CONTROLLER_ABOVE = 10_000;

/** A client that tries as long as a broker needs to be back. */
const clientOf = (servers: readonly KafkaServer[], more: Partial<KafkaConfig> = {}) =>
  new Kafka({
    brokers: servers.map(({ endpoint }) => endpoint),
    logLevel: logLevel.NOTHING,
    retry: { initialRetryTime: 50, maxRetryTime: 500, retries: 40 },
    ...more,
  });

async function write(kafka: Kafka, topic: string, ...values: string[]): Promise<void> {
  const producer = kafka.producer();
  await producer.connect();
  try {
    await producer.send({ topic, acks: -1, messages: values.map((value) => ({ value })) });
  } finally {
    await producer.disconnect();
  }
}

/** The first `count` texts of the topic, sorted. A message may come twice, when the client joins its group again. */
async function read(kafka: Kafka, topic: string, count: number): Promise<string[]> {
  const consumer: Consumer = kafka.consumer({ groupId: `reads-${topic}` });
  await consumer.connect();
  try {
    await consumer.subscribe({ topic, fromBeginning: true });
    const values = new Set<string>();
    const all = new Promise<void>((resolve, reject) => {
      consumer.on('consumer.crash', ({ payload }) => {
        if (!payload.restart) reject(payload.error); // otherwise it begins again by itself
      });
      const eachMessage = async ({ message }: { message: { value: Buffer | null } }) => {
        values.add(String(message.value));
        if (values.size === count) resolve();
      };
      consumer.run({ eachMessage }).catch(reject);
    });
    await within(LIMIT / 4, `${count} messages of ${topic}`, all);
    return [...values].toSorted();
  } finally {
    await consumer.disconnect();
  }
}

/** A listener on the port which a Kafka of this place would have as a controller. */
async function strangerAt(place: Place): Promise<Listener> {
  const stranger = createServer().listen(place.port + CONTROLLER_ABOVE, '127.0.0.1');
  await once(stranger, 'listening');
  await place.leave();
  return stranger;
}

/** Lets the next search for a place begin with this port. */
function beginWith(port: number): void {
  const places = (PORTS.last - PORTS.first) / 2 + 1;
  jest.spyOn(Math, 'random').mockReturnValueOnce(((port - PORTS.first) / 2 + 0.5) / places);
}

describe('startKafka', () => {
  let stranger: Listener;
  let port: number;
  let server: KafkaServer;
  beforeAll(async () => {
    const { value: place } = await places('stranger', { first: PORTS.first, last: 22_000 }).next();
    port = place!.port;
    stranger = await strangerAt(place!);
    beginWith(port);
    server = await startKafka({ maxMessageBytes: 5_000 });
  }, LIMIT);
  afterAll(async () => {
    jest.restoreAllMocks();
    stranger?.close();
    await server?.stop();
  });

  it('passes by a place where another one has a port of it', () => {
    expect(server.port).toBeGreaterThan(port);
    expect(server.port).toBeLessThan(port + 100);
  });

  it(
    'keeps messages while it is killed and starts again',
    async () => {
      const kafka = clientOf([server]);
      await write(kafka, 'kept', 'a', 'b', 'c');
      const { pid, endpoint } = server;
      await server.kill();
      await server.restart();
      expect(server.pid).not.toBe(pid);
      expect(server.endpoint).toBe(endpoint);
      await write(kafka, 'kept', 'd');
      await expect(read(kafka, 'kept', 4)).resolves.toEqual(['a', 'b', 'c', 'd']);
    },
    LIMIT,
  );

  it('takes no message that is too large', async () => {
    await write(clientOf([server]), 'sizes', 'a'.repeat(4_000));
    await expect(write(clientOf([server]), 'sizes', 'a'.repeat(6_000))).rejects.toThrow(
      'larger than the max message size',
    );
  });

  it('answers again after it was frozen', async () => {
    const ask = (limit: number) => askMetadata({ host: server.host, port: portForOthers(server) }, limit);
    const silent = () =>
      ask(200).then(
        () => false,
        (error: Error) => error.message.includes('no reply'),
      );
    server.freeze();
    expect(await silent()).toBe(true);
    const answer = ask(LIMIT);
    server.thaw();
    await expect(answer).resolves.toHaveProperty('brokers', [1]);
  });
});

describe('startKafka', () => {
  it('says what it expects of a user', async () => {
    await expect(startKafka({ users: [{ username: 'ann', password: 'a"b' }] })).rejects.toThrow(
      'Expected `password` to be letters, digits, _ and -, got "a\\"b"',
    );
  });

  it('says what the broker said when it does not start', async () => {
    await expect(startKafka({ properties: { 'num.io.threads': 'many' } })).rejects.toThrow(
      /Invalid value many for configuration num.io.threads/,
    );
  });
});

describe('startKafka with users and TLS', () => {
  let server: KafkaServer;
  beforeAll(async () => {
    server = await startKafka({
      autoCreateTopics: false,
      tls: true,
      users: [
        { username: 'ann', password: 'ann-secret' },
        { username: 'bob', password: 'bob-secret' },
      ],
    });
  }, LIMIT);
  afterAll(() => server?.stop());

  const login = (
    mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512',
    username: string,
    password: string,
  ) => ({
    retry: { retries: 0 },
    ssl: { ca: [server.ca!] },
    sasl: { mechanism, username, password } as SASLOptions,
  });
  const MECHANISMS = ['plain', 'scram-sha-256', 'scram-sha-512'] as const;

  it.each(MECHANISMS)('lets users in by %s, and nobody with a wrong password', async (mechanism) => {
    for (const name of ['ann', 'bob']) {
      const admin = clientOf([server], login(mechanism, name, `${name}-secret`)).admin();
      await admin.connect();
      await expect(admin.describeCluster()).resolves.toHaveProperty('controller', 1);
      await admin.disconnect();
    }
    const wrong = clientOf([server], login(mechanism, 'ann', 'bob-secret')).admin();
    await expect(wrong.connect()).rejects.toThrow(/[Aa]uthentication failed/);
  });

  it('has a certificate that only its own authority vouches for', async () => {
    const { ca } = await makeCertificate();
    const connect = (ssl: KafkaConfig['ssl']) =>
      clientOf([server], { ...login('plain', 'ann', 'ann-secret'), ssl })
        .admin()
        .connect();
    await expect(connect({ ca: [ca] })).rejects.toThrow(/certificate/);
    await expect(connect(true)).rejects.toThrow(/certificate/);
    await expect(connect(false)).rejects.toThrow();
  });

  it('creates no topic automatically if that is off', async () => {
    const kafka = clientOf([server], login('plain', 'ann', 'ann-secret'));
    await expect(write(kafka, 'unknown', 'a')).rejects.toThrow('does not host this topic-partition');
  });
});

describe('startKafkaCluster', () => {
  let servers: KafkaServer[];
  beforeAll(async () => {
    servers = await startKafkaCluster();
  }, LIMIT);
  afterAll(() => Promise.all((servers ?? []).map((server) => server.stop())));

  const endpoints = () => servers.map(({ endpoint }) => endpoint);

  it(
    'has three copies of each message, and continues when a leader is killed',
    async () => {
      const kafka = clientOf(servers);
      const admin = kafka.admin();
      await admin.connect();
      await createTopic(endpoints(), { topic: 'led', numPartitions: 1 });
      const partition = async () =>
        (await admin.fetchTopicMetadata({ topics: ['led'] })).topics[0]!.partitions[0]!;
      await write(kafka, 'led', 'before');
      const { leader, replicas } = await partition();
      expect(replicas.toSorted((a, b) => a - b)).toEqual([1, 2, 3]);
      const killed = servers.find(({ nodeId }) => nodeId === leader)!;
      await killed.kill();
      await write(kafka, 'led', 'without');
      await eventually('another broker leads', async () => {
        const { leader: now } = await partition();
        return now >= 0 && now !== leader;
      });
      await killed.restart();
      await write(kafka, 'led', 'after');
      await expect(read(kafka, 'led', 3)).resolves.toEqual(['after', 'before', 'without']);
      await admin.disconnect();
    },
    LIMIT,
  );

  it(
    'needs two copies of a message',
    async () => {
      const admin = clientOf(servers).admin();
      await admin.connect();
      await createTopic(endpoints(), { topic: 'copied' });
      const { resources } = await admin.describeConfigs({
        includeSynonyms: false,
        resources: [{ type: 2, name: 'copied', configNames: ['min.insync.replicas'] }],
      });
      await admin.disconnect();
      expect(resources[0]!.configEntries).toMatchObject([
        { configName: 'min.insync.replicas', configValue: '2' },
      ]);
    },
    LIMIT,
  );
});
