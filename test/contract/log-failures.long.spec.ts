// Pusher, consumer, failures and replay together, as any log stores them.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { MemoryBudget } from 'nest-kq/src/consumer/memory-budget.js';
import { GroupConsumer } from 'nest-kq/src/consumer/group-consumer.js';
import { Pauses } from 'nest-kq/src/consumer/pauses.js';
import { LogDeadLetters } from 'nest-kq/src/dead-letters/log-dead-letters.js';
import { DelaysPort } from 'nest-kq/src/delays/delays.js';
import type { LogDriver } from 'nest-kq/src/driver/driver.js';
import { resolveFailureOptions } from 'nest-kq/src/failures/failure-options.js';
import { EventHub } from 'nest-kq/src/events/event-hub.js';
import { HandlerRuns } from 'nest-kq/src/failures/handler-runs.js';
import { LogPusher } from 'nest-kq/src/pusher/log-pusher.js';
import { resolvePusherOptions } from 'nest-kq/src/pusher/pusher-options.js';
import { systemClock } from 'nest-handlers/time';
import { confluentHarness, kafkajsHarness, memoryHarness, type LogHarness } from './log-harness.js';

const MESSAGES = 2_000;
const KEYS = 50;

describe.each([
  ['memory', memoryHarness],
  ['kafkajs', kafkajsHarness],
  ...(confluentHarness ? [["Confluent's client", confluentHarness] as const] : []),
] as const)('a topic with dead letters, by %s', (_name, start) => {
  let harness: LogHarness;
  let driver: LogDriver;
  beforeAll(async () => {
    harness = await start();
    driver = harness.open();
    await driver.admin.createTopics([
      { topic: 'orders', partitions: 3 },
      { topic: 'orders.dead', partitions: 3 },
    ]);
  }, 120_000);
  afterAll(() => harness.stop(), 120_000);

  it('handles each message, by a second run, or after a replay, in the order of its key', async () => {
    const events = new EventHub((_who, error) => {
      throw error;
    });
    const options = resolvePusherOptions({ transactionalId: 'orders' });
    const pusher = new LogPusher(driver, systemClock, options, {
      events,
      hooks: {},
      delays: new DelaysPort(),
    });
    const producer = driver.producer();
    const store = async (topic: string, message: Parameters<typeof producer.send>[1][number]) => {
      for (const sent of await producer.send(topic, [message])) if (sent instanceof Error) throw sent;
    };
    /** By key, in the order in which they were handled. */
    const handled = new Map<string, number[]>();
    const died: number[] = [];
    let count = 0;
    let changed = () => {};
    const until = (condition: () => boolean) =>
      new Promise<void>((resolve) => {
        changed = () => {
          if (condition()) resolve();
        };
        changed();
      });
    const failing = (value: number) => value % 100 === 7;
    const runs = new HandlerRuns(systemClock, {
      group: 'g',
      topic: 'orders',
      batches: false,
      settings: resolveFailureOptions(
        { retry: { attempts: 2, backoff: 1 }, deadLetter: 'orders.dead' },
        { topics: ['orders'], group: 'g', dq: false },
      ),
      handler: (value: number, { attempt, key }) => {
        if (attempt === 1 && value % 10 === 3) throw new Error('the first run fails');
        if (failing(value) && !died.includes(value)) throw new Error('it fails until it was a dead letter');
        handled.set(key, [...(handled.get(key) ?? []), value]);
        count++;
        changed();
      },
      events,
      store: ({ topic }, letter) => store(topic, letter),
    });
    events.on('died').subscribe(({ message }) => {
      died.push(Number(message.value));
      changed();
    });
    const consumer = new GroupConsumer(driver, systemClock, {
      group: 'g',
      from: 'first',
      commitEvery: 100,
      pauses: new Pauses(),
      subscriptions: [
        {
          topics: ['orders'],
          order: 'key',
          concurrency: 16,
          size: 1,
          within: 0,
          room: { messages: 1_000, budget: new MemoryBudget(1e9) },
          run: (deliveries, signal) => runs.run(deliveries, signal),
        },
      ],
      joined: () => {},
      lapsed: () => {},
      cut: () => {},
      failed: () => {}, // a broker that has just begun does not know its groups for a while
    });
    await consumer.start();
    const messages = Array.from({ length: MESSAGES }, (_, value) => ({ value, key: `k${value % KEYS}` }));
    const half = MESSAGES / 2;
    const results = await pusher.pushMany('orders', messages.slice(0, half));
    expect(results.filter(({ error }) => error)).toEqual([]);
    await pusher.transaction((tx) => tx.pushMany('orders', messages.slice(half)));
    const letters = messages.filter(({ value }) => failing(value)).length;
    await until(() => died.length === letters && count === MESSAGES - letters);
    const inOrder = [...handled.values()].every((values) =>
      values.every((value, index) => index === 0 || values[index - 1]! < value),
    );
    expect(inOrder).toBe(true);
    const operator = new LogDeadLetters(driver.admin, producer, () => {});
    expect((await operator.list('orders.dead', { limit: 1_000 })).letters).toHaveLength(letters);
    const done = await operator.replay('orders.dead', {}, { groups: 'failed' });
    expect(done).toMatchObject({ count: letters, failed: 0 });
    await until(() => count === MESSAGES);
    expect([...handled.values()].flat().toSorted((a, b) => a - b)).toEqual(
      messages.map(({ value }) => value),
    );
    expect(await operator.list('orders.dead')).toEqual({ letters: [] });
    expect(await operator.replay('orders.dead', {})).toMatchObject({ count: 0 });
    await consumer.stop(10_000);
    await pusher.close();
  }, 120_000);
});
