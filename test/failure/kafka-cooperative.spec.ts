// A member that keeps some of its partitions and gives up others: with Confluent's client, those that stay go on meanwhile.
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { systemClock } from 'nest-handlers/time';
import { keyOf } from 'nest-kq/src/driver/assignment.js';
import type { LogDriver } from 'nest-kq/src/driver/driver.js';
import type { TopicPartition } from 'nest-kq/src/driver/message.js';
import { GroupConsumer } from 'nest-kq/src/consumer/group-consumer.js';
import { MemoryBudget } from 'nest-kq/src/consumer/memory-budget.js';
import { Pauses } from 'nest-kq/src/consumer/pauses.js';
import type { Outcome } from 'nest-kq/src/consumer/topic-work.js';
import { KafkajsDriver } from 'nest-kq/src/driver/kafkajs/kafkajs-driver.js';
import { eventually, startKafka, type KafkaServer } from 'test-servers';
import { failing, message, stored } from '../contract/log-facts.js';
import { confluentDriver, noteNotBuilt } from '../contract/log-harness.js';

const ALL = [0, 1, 2, 3];
const MESSAGES = 5;
const LIMIT = 120_000;
const silent = { debug: () => undefined, warn: () => undefined, error: () => undefined };

/** Ends the runs of a partition only once it is told to. */
class Held extends GroupConsumer {
  /** `partition/offset`, as they began. */
  readonly begun: string[] = [];
  readonly errors: Error[] = [];
  going: readonly TopicPartition[] = [];
  cut: readonly TopicPartition[] = [];
  rebalances = 0;
  private readonly ends = new Map<number, () => void>();
  private readonly free = new Set<number>();

  constructor(driver: LogDriver, topic: string, rebalanceTimeout = 60_000) {
    super(driver, systemClock, {
      group: topic,
      from: 'first',
      heartbeatInterval: 100,
      sessionTimeout: 6_000,
      rebalanceTimeout,
      commitEvery: 0,
      pauses: new Pauses(),
      lapsed: () => {},
      joined: () => void this.rebalances++,
      failed: (error) => void this.errors.push(error),
      cut: (partitions) => (this.cut = partitions),
      subscriptions: [
        {
          topics: [topic],
          order: 'partition',
          concurrency: 10,
          size: 1,
          within: 0,
          room: { messages: 1_000, budget: new MemoryBudget(1e9) },
          run: ([delivery]) => this.run(delivery!.partition, delivery!.message.offset),
        },
      ],
    });
  }

  override revoking(places: readonly TopicPartition[]): Promise<void> {
    if (places.length > 0) this.going = places;
    return super.revoking(places);
  }

  /** The run of the partition, and all that follow, end. */
  let(partition: number): void {
    this.free.add(partition);
    this.ends.get(partition)?.();
  }

  begunOf(partition: number): string[] {
    return this.begun.filter((each) => each.startsWith(`${partition}/`));
  }

  private run(partition: number, offset: bigint): Promise<readonly Outcome[]> {
    this.begun.push(`${partition}/${offset}`);
    return new Promise((resolve) => {
      const end = () => resolve(['handled']);
      this.ends.set(partition, end);
      if (this.free.has(partition)) end();
    });
  }
}

let server: KafkaServer;
const opened: (() => Promise<unknown>)[] = [];
let topics = 0;
beforeAll(async () => {
  server = await startKafka();
}, 60_000);
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
}, 60_000);
afterAll(() => server.stop());

(confluentDriver ? describe : noteNotBuilt)("while a group is shared out, with Confluent's client", () => {
  async function begin() {
    const topic = `orders.${topics++}`;
    const driver = confluentDriver!({ brokers: [server.endpoint], clock: systemClock, log: silent });
    opened.push(() => driver.close());
    await driver.admin.createTopics([{ topic, partitions: ALL.length }]);
    const send = async (count: number) => {
      const messages = ALL.flatMap((partition) =>
        Array.from({ length: count }, (_, n) => message(`${n}`, { partition })),
      );
      stored(await driver.producer().send(topic, messages));
    };
    await send(MESSAGES);
    const join = async (rebalanceTimeout?: number) => {
      const consumer = new Held(driver, topic, rebalanceTimeout);
      opened.push(async () => {
        for (const partition of ALL) consumer.let(partition);
        await consumer.stop(10_000);
      });
      await consumer.start();
      return consumer;
    };
    const committed = async () =>
      (await driver.admin.committed(topic, topic)).map(({ offset }) => Number(offset ?? 0));
    return { topic, join, committed, send };
  }

  const inAll = (...consumers: readonly Held[]) => consumers.flatMap(({ begun }) => begun).toSorted();
  const every = (count: number) =>
    ALL.flatMap((partition) => Array.from({ length: count }, (_, n) => `${partition}/${n}`)).toSorted();

  it(
    'handlers of what stays run on and are committed, only what moves is waited for, and nothing runs twice',
    async () => {
      const { join, committed, send } = await begin();
      const first = await join();
      await eventually('all partitions run', () => first.begun.length === ALL.length);
      const second = await join();
      await eventually('the first one is to give up some', () => first.going.length > 0);
      const going = first.going.map(({ partition }) => partition);
      const kept = ALL.filter((partition) => !going.includes(partition));
      expect([going.length, kept.length]).toEqual([2, 2]);
      for (const partition of kept) first.let(partition);
      await eventually('what stays is handled and committed', async () => {
        const offsets = await committed();
        return kept.every((partition) => offsets[partition] === MESSAGES);
      });
      for (const partition of going) expect(first.begunOf(partition)).toEqual([`${partition}/0`]);
      expect(second.begun).toEqual([]);
      for (const partition of ALL) second.let(partition);
      for (const partition of going) first.let(partition);
      await eventually('all is handled', async () =>
        (await committed()).every((offset) => offset === MESSAGES),
      );
      expect(inAll(first, second)).toEqual(every(MESSAGES));
      await send(1);
      await eventually('what comes next is handled', async () =>
        (await committed()).every((offset) => offset === MESSAGES + 1),
      );
      expect(inAll(first, second)).toEqual(every(MESSAGES + 1));
      expect([first.errors, second.errors, first.cut]).toEqual([[], [], []]);
    },
    LIMIT,
  );

  it(
    'what runs for too long in a partition that moves is cut, and what stays goes on',
    async () => {
      const { join, committed } = await begin();
      const first = await join(6_000);
      await eventually('all partitions run', () => first.begun.length === ALL.length);
      const second = await join(6_000);
      for (const partition of ALL) second.let(partition);
      await eventually('runs of what moves are cut', () => first.cut.length > 0);
      expect(first.cut.map(keyOf).toSorted()).toEqual(first.going.map(keyOf).toSorted());
      await eventually('the second one handles it', async () => {
        const offsets = await committed();
        return first.going.every(({ partition }) => offsets[partition] === MESSAGES);
      });
      for (const partition of ALL) first.let(partition);
      await eventually('all is handled', async () =>
        (await committed()).every((offset) => offset === MESSAGES),
      );
      const repeated = first.going.map(({ partition }) => `${partition}/0`);
      expect(inAll(first, second)).toEqual([...every(MESSAGES), ...repeated].toSorted());
    },
    LIMIT,
  );

  it(
    'a member that stops while it gives up partitions commits all that it handled, and others go on from there',
    async () => {
      const { join, committed } = await begin();
      const first = await join();
      await eventually('all partitions run', () => first.begun.length === ALL.length);
      const second = await join();
      for (const partition of ALL) second.let(partition);
      await eventually('the first one is to give up some', () => first.going.length > 0);
      const stopping = first.stop(30_000);
      for (const partition of ALL) first.let(partition);
      await expect(stopping).resolves.toBe(0);
      await eventually('all is handled', async () =>
        (await committed()).every((offset) => offset === MESSAGES),
      );
      expect(inAll(first, second)).toEqual(every(MESSAGES));
    },
    LIMIT,
  );

  it(
    'a member notices nothing of others that come and go, where its own partitions stay',
    async () => {
      const { join } = await begin();
      const four = await Promise.all(ALL.map(() => join()));
      for (const each of four) for (const partition of ALL) each.let(partition);
      await eventually('each has one', () => four.every(({ progress }) => progress.length === 1));
      const before = four.map(({ rebalances }) => rebalances);
      const fifth = await join();
      expect(fifth.progress).toEqual([]);
      await fifth.stop(0);
      await join(); // once the group is done with that
      expect(four.map(({ rebalances }) => rebalances)).toEqual(before);
    },
    LIMIT,
  );

  it(
    'a member by kafkajs is refused, and disturbs nobody',
    async () => {
      const { topic, join } = await begin();
      const first = await join();
      const other = new KafkajsDriver({ brokers: [server.endpoint], clock: systemClock, log: silent });
      opened.push(() => other.close());
      const eager = new Held(other, topic);
      opened.push(() => eager.stop(0));
      await expect(eager.start()).rejects.toEqual(failing('KQ_CONFIG'));
      expect([first.rebalances, first.errors, first.progress.length]).toEqual([1, [], ALL.length]);
    },
    LIMIT,
  );
});
