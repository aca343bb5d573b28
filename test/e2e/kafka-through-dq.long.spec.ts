// Kafka, beanstalkd and Redis together: messages that come later, and messages that failed.
import { afterAll, beforeAll, beforeEach, afterEach, expect, it } from '@jest/globals';
import { ConsoleLogger, Injectable, type Provider } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { Kafka, logLevel, type Admin } from 'kafkajs';
import { DqModule } from 'nest-dq';
import { DqDeadLetters, DqInspector } from 'nest-dq/operate';
import { KqModule, KqPusher, TopicHandler, type KqMessage, type TopicHandlerOptions } from 'nest-kq';
import { KqDqModule } from 'nest-kq/dq';
import { KafkajsDriver } from 'nest-kq/src/driver/kafkajs/kafkajs-driver.js';
import { systemClock } from 'nest-handlers/time';
import {
  eventually,
  startBeanstalkd,
  startKafka,
  startRedis,
  type BeanstalkdServer,
  type KafkaServer,
  type RedisServer,
} from 'test-servers';

const LIMIT = 120_000;
const HOUR = 3_600_000;
const silent = { debug: () => undefined, warn: () => undefined, error: () => undefined };

let kafka: KafkaServer;
let redis: RedisServer;
let nodes: readonly BeanstalkdServer[];
let driver: KafkajsDriver;
beforeAll(async () => {
  [kafka, redis, ...nodes] = await Promise.all([
    startKafka(),
    startRedis(),
    startBeanstalkd(),
    startBeanstalkd(),
    startBeanstalkd(),
  ]);
  driver = new KafkajsDriver({ brokers: [kafka.endpoint], clock: systemClock, log: silent });
}, LIMIT);
afterAll(async () => {
  await driver.close();
  await Promise.all([kafka, redis, ...nodes].map((server) => server.stop()));
}, LIMIT);

let topic = '';
let count = 0;
let apps: TestingModule[] = [];
beforeEach(async () => {
  topic = `orders-${++count}`;
  await driver.admin.createTopics([{ topic, partitions: 2 }]);
});
afterEach(async () => {
  await Promise.all(apps.map((app) => app.close()));
  apps = [];
}, LIMIT);

/** An application whose group has the name of the topic. */
async function start(...providers: Provider[]): Promise<TestingModule> {
  const logger = new ConsoleLogger('Kq', { logLevels: [] });
  const beanstalks = nodes.map(({ endpoint }) => endpoint);
  const app = await Test.createTestingModule({
    imports: [
      KqModule.forRoot({ brokers: [kafka.endpoint], group: topic, logger, commitEvery: 100 }),
      DqModule.forRoot({ beanstalks, redis: redis.url, logger, patience: 500 }),
      KqDqModule.forRoot(),
    ],
    providers,
  }).compile();
  apps.push(app);
  return app.init();
}

async function end(app: TestingModule): Promise<void> {
  await app.close();
  apps = apps.filter((each) => each !== app);
}

/** A handler that fails as long as `fails` says so, and what it has handled. */
function failing(fails: (value: any, message: KqMessage) => boolean, retry: TopicHandlerOptions['retry']) {
  const handled: unknown[] = [];
  const tried: KqMessage[] = [];
  @Injectable()
  class Handlers {
    @TopicHandler(topic, { retry: { through: 'dq', ...retry } })
    handle(value: any, message: KqMessage<any>): void {
      tried.push(message);
      if (fails(value, message)) throw new Error('no stock');
      handled.push(value);
    }
  }
  return { Handlers, handled, tried };
}

const tubeOf = () => `kq/${topic}`;

/** Removes what lies before an offset of partition 0, as the retention of a topic does. */
async function forget(offset: number): Promise<void> {
  await withAdmin(async (admin) => {
    await admin.fetchTopicOffsets(topic); // it has to know the topic
    await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: String(offset) }] });
  });
}

async function withAdmin(act: (admin: Admin) => Promise<void>): Promise<void> {
  const admin = new Kafka({ brokers: [kafka.endpoint], logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  try {
    await act(admin);
  } finally {
    await admin.disconnect();
  }
}

/** How far the group has come, in all partitions. */
async function committed(): Promise<bigint> {
  const all = await driver.admin.committed(topic, topic);
  return all.reduce((sum, { offset = 0n }) => sum + offset, 0n);
}

it(
  'runs a failed message again later, and nothing of its key or its partition waits for it',
  async () => {
    const { Handlers, handled, tried } = failing((value, { attempt }) => value === 0 && attempt < 3, {
      backoff: 300,
    });
    const app = await start(Handlers);
    const values = Array.from({ length: 50 }, (_, value) => ({ value, key: 'same' }));
    await app.get(KqPusher).pushMany(topic, values);
    await eventually('all are handled', () => handled.length === 50);
    expect(handled).toEqual([...Array.from({ length: 49 }, (_, i) => i + 1), 0]);
    const [first, ...again] = tried.filter(({ value }) => value === 0);
    expect(again.map(({ attempt, offset }) => [attempt, offset])).toEqual([
      [2, first!.offset],
      [3, first!.offset],
    ]);
    await eventually('all is committed', async () => (await committed()) === 50n);
  },
  LIMIT,
);

it(
  'makes one job of a message that comes again, as after a crash between the job and the commit',
  async () => {
    const { Handlers, tried } = failing(() => true, { backoff: HOUR });
    const app = await start(Handlers);
    const { partition } = await app.get(KqPusher).push(topic, 'once', { key: 'k' });
    await eventually('it is committed', async () => (await committed()) === 1n);
    await end(app);
    // The state left by a process that is killed before its commit.
    await driver.admin.setCommitted(topic, topic, [{ partition, offset: 0n }]);
    const next = await start(Handlers);
    await eventually('it came again, and is committed', async () => (await committed()) === 1n);
    expect(tried).toHaveLength(2);
    expect(await next.get(DqInspector).tube(tubeOf())).toMatchObject({ waiting: 1, running: 0, dead: 0 });
  },
  LIMIT,
);

it(
  'holds failed messages while Redis is away, and resumes when it is back',
  async () => {
    const { Handlers, handled, tried } = failing((_value, { attempt }) => attempt === 1, { backoff: 10 });
    const app = await start(Handlers);
    await redis.kill();
    try {
      await app.get(KqPusher).pushMany(
        topic,
        Array.from({ length: 20 }, (_, value) => ({ value, key: `k${value}` })),
      );
      await eventually('each has failed once', () => tried.length >= 20);
      expect(await committed()).toBe(0n);
    } finally {
      await redis.restart();
    }
    await eventually('all are handled', () => handled.length === 20, 60_000);
    expect(handled.toSorted((a, b) => Number(a) - Number(b))).toEqual(
      Array.from({ length: 20 }, (_, i) => i),
    );
    expect(tried).toHaveLength(40);
    await eventually('all is committed', async () => (await committed()) === 20n);
  },
  LIMIT,
);

it(
  'gets a job of its own in a topic created again, where an old message of that offset still waits',
  async () => {
    const { Handlers } = failing(() => true, { backoff: HOUR });
    const fail = async (value: string, jobs: number) => {
      const app = await start(Handlers);
      const { offset } = await app.get(KqPusher).push(topic, value, { partition: 0 });
      expect(offset).toBe('0');
      const inspector = app.get(DqInspector);
      await eventually('it has a job', async () => (await inspector.tube(tubeOf())).waiting === jobs);
      await eventually('it is committed', async () => (await committed()) === 1n);
      await end(app);
    };
    await fail('old', 1);
    await withAdmin((admin) => admin.deleteTopics({ topics: [topic] }));
    await eventually('the topic is created again', async () => {
      const created = await driver.admin.createTopics([{ topic, partitions: 2 }]);
      return created.length === 1;
    });
    await eventually('the old offsets are gone', async () => (await committed()) === 0n);
    await fail('new', 2);
  },
  LIMIT,
);

it(
  'ends in the dead letters of nest-dq, from which it is revived',
  async () => {
    let broken = true;
    const { Handlers, handled } = failing(() => broken, { backoff: 10, attempts: 2 });
    const app = await start(Handlers);
    await app.get(KqPusher).push(topic, { id: 7 }, { key: 'k' });
    const letters = app.get(DqDeadLetters);
    const first = async () => (await letters.list(tubeOf())).letters[0];
    await eventually('it is dead', async () => (await first()) !== undefined);
    const letter = (await first())!;
    expect(letter.key).toMatch(new RegExp(`^${topic}/[01]/0@\\d+$`));
    expect(letter.error?.message).toBe('no stock');
    broken = false;
    await letters.revive(letter);
    await eventually('it is handled', () => handled.length === 1);
  },
  LIMIT,
);

it(
  'reads a message from the log that is too large for a job',
  async () => {
    const { Handlers, handled } = failing((_value, { attempt }) => attempt === 1, { backoff: 10 });
    const app = await start(Handlers);
    const large = 'x'.repeat(300_000);
    const place = { key: 'k', partition: 1, headers: { h: 'ä' } };
    const values = ['before', large, 'after'].map((value) => ({ value, ...place }));
    await app.get(KqPusher).pushMany(topic, values);
    await eventually('all are handled', () => handled.length === 3);
    expect(handled).toContain(large);
  },
  LIMIT,
);

it(
  'buries a message that was too large for a job and is not in the log any more',
  async () => {
    const { Handlers } = failing(() => true, { backoff: 3_000 });
    const app = await start(Handlers);
    await app.get(KqPusher).push(topic, 'x'.repeat(300_000), { partition: 0 });
    await eventually('it is a job', async () => (await committed()) === 1n);
    await forget(1);
    const first = async () => (await app.get(DqDeadLetters).list(tubeOf())).letters[0];
    await eventually('it is dead', async () => (await first()) !== undefined);
    expect((await first())!.error!.message).toBe(
      `message 0 of ${topic}/0 was too large for a job and is no longer in the log`,
    );
  },
  LIMIT,
);

it(
  'pushes a message later, even if the application was restarted meanwhile',
  async () => {
    const app = await start();
    const from = Date.now();
    await app.get(KqPusher).push(topic, { id: 7 }, { key: 'k', delay: '2s' });
    await end(app);
    const { Handlers, handled, tried } = failing(() => false, {});
    await start(Handlers);
    await eventually('it is handled', () => handled.length === 1);
    expect(handled).toEqual([{ id: 7 }]);
    expect(tried[0]!.timestamp).toBeGreaterThanOrEqual(from + 2_000);
  },
  LIMIT,
);
