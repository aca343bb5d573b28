import { MemoryBudget } from '../src/consumer/memory-budget.js';
import { GroupConsumer } from '../src/consumer/group-consumer.js';
import { Pauses } from '../src/consumer/pauses.js';
import { MemoryDriver } from '../src/driver/memory/memory-driver.js';
import type { Delays } from '../src/delays/delays.js';
import type { OutgoingMessage } from '../src/driver/message.js';
import { EventHub } from '../src/events/event-hub.js';
import { HandlerRuns, type MessageHandler } from '../src/failures/handler-runs.js';
import { resolveFailureOptions, type FailureOptions } from '../src/failures/failure-options.js';
import { systemClock, type Clock } from 'nest-handlers/time';
import type { KqMessage } from '../src/api/received.js';
import type { Topic } from '../src/api/topic.js';

const log = { debug: () => {}, warn: () => {}, error: () => {} };

interface Over extends FailureOptions {
  readonly topic?: Topic;
  /** Messages of a run; from 2 on in batches. */
  readonly size?: number;
  /** Gets the timers of runs, which end when the test says so. @default they are real */
  readonly timers?: (() => void)[];
  readonly store?: (topic: string, letter: OutgoingMessage) => Promise<unknown>;
  /** Where nest-dq is there. */
  readonly delays?: Pick<Delays, 'retry'>;
}

/** The topic `t` of one partition, which the group `g` handles. A value names its message. */
export class Handled {
  readonly driver = new MemoryDriver({ clock: systemClock, log, partitions: 1 });
  /** Recorded facts, in order. */
  readonly told: string[] = [];
  readonly events = new EventHub((_who, error) => {
    throw error;
  });
  private readonly consumers: GroupConsumer[] = [];
  private changed = () => {};

  constructor() {
    this.tellAll();
  }

  async consume(handler: MessageHandler, over: Over): Promise<void> {
    const { topic = 't', size = 1, timers, store = this.store, delays, ...options } = over;
    const runs = new HandlerRuns(timers ? clockOf(timers) : systemClock, {
      group: 'g',
      topic,
      handler,
      batches: size > 1,
      settings: resolveFailureOptions(options, { topics: ['t'], group: 'g', dq: delays !== undefined }),
      events: this.events,
      store: (to, letter) => store(to.topic, letter),
      ...(delays && { delays }),
    });
    // No wait before a next run, as that is the consumer's.
    const clock: Clock = { ...systemClock, after: (_, callback) => systemClock.after(0, callback) };
    const consumer = new GroupConsumer(this.driver, clock, {
      group: 'g',
      from: 'first',
      commitEvery: 0,
      pauses: new Pauses(),
      subscriptions: [
        {
          topics: ['t'],
          order: 'key',
          concurrency: 10,
          size,
          within: 0,
          room: { messages: 1000, budget: new MemoryBudget(1e9) },
          run: (deliveries, run) => runs.run(deliveries, run),
        },
      ],
      joined: () => {},
      lapsed: () => {},
      cut: () => {},
      failed: (error) => {
        throw error;
      },
    });
    this.consumers.push(consumer);
    await consumer.start();
  }

  /** Waits for no handler. */
  async stop(): Promise<void> {
    await Promise.all(this.consumers.map((consumer) => consumer.stop(0)));
  }

  async close(): Promise<void> {
    await this.stop();
    await this.driver.close();
  }

  tell(fact: string): void {
    this.told.push(fact);
    this.changed();
  }

  /** All of one key. */
  async push(...values: readonly string[]): Promise<void> {
    const key = Buffer.from('k');
    for (const value of values) await this.store('t', { key, value: Buffer.from(value) });
  }

  readonly store = async (topic: string, message: OutgoingMessage): Promise<void> => {
    for (const sent of await this.driver.producer().send(topic, [message]))
      if (sent instanceof Error) throw sent;
  };

  /** Resolves once `count` facts are recorded. */
  untilTold(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.changed = () => {
        if (this.told.length >= count) resolve();
      };
      this.changed();
    });
  }

  async untilCommitted(offset: bigint): Promise<void> {
    while ((await this.committed()) !== offset) await new Promise(setImmediate);
  }

  async committed(): Promise<bigint | undefined> {
    return (await this.driver.admin.committed('g', 't'))[0]?.offset;
  }

  private tellAll(): void {
    const { events } = this;
    events.on('failed').subscribe(({ message, error, after }) => {
      this.tell(`${nameOf(message)} failed: ${error.message}, again in ${after}`);
    });
    events.on('died').subscribe(({ message, why, error, runs, topic }) => {
      this.tell(`${nameOf(message)} died in ${topic}: ${why} after ${runs}, ${error.message}`);
    });
    events.on('dropped').subscribe(({ message, why }) => this.tell(`${nameOf(message)} dropped: ${why}`));
    events.on('held').subscribe(({ message, why, trouble, after }) => {
      this.tell(`${nameOf(message)} held: ${why}, ${trouble.message}, again in ${after}`);
    });
    events.on('deferred').subscribe(({ message, error, after }) => {
      this.tell(`${nameOf(message)} deferred: ${error.message}, again in ${after}`);
    });
    events.on('notDeferred').subscribe(({ message, error, trouble, after }) => {
      this.tell(`${nameOf(message)} not deferred: ${error.message}, ${trouble.message}, again in ${after}`);
    });
    events.on('overran').subscribe(({ messages }) => this.tell(`${messages.map(nameOf).join()} overran`));
  }
}

function nameOf({ value }: KqMessage): string {
  return String(value);
}

function clockOf(timers: (() => void)[]): Clock {
  return {
    ...systemClock,
    after: (_, callback) => {
      timers.push(callback);
      return { cancel: () => void (timers.includes(callback) && timers.splice(timers.indexOf(callback), 1)) };
    },
  };
}
