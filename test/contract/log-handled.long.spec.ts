// A handler that pushes its result and takes its message as handled in one transaction: one result for each message.
import { afterEach, expect, it } from '@jest/globals';
import { systemClock } from 'nest-handlers/time';
import { MemoryBudget } from 'nest-kq/src/consumer/memory-budget.js';
import type { KqMessage } from 'nest-kq/src/api/received.js';
import { GroupConsumer } from 'nest-kq/src/consumer/group-consumer.js';
import type { Order } from 'nest-kq/src/consumer/lanes.js';
import { Pauses } from 'nest-kq/src/consumer/pauses.js';
import { DelaysPort } from 'nest-kq/src/delays/delays.js';
import { MemberLost, type LogDriver } from 'nest-kq/src/driver/driver.js';
import { KqError } from 'nest-kq/src/errors.js';
import { EventHub } from 'nest-kq/src/events/event-hub.js';
import { resolveFailureOptions, type FailureOptions } from 'nest-kq/src/failures/failure-options.js';
import { HandlerRuns } from 'nest-kq/src/failures/handler-runs.js';
import { LogPusher } from 'nest-kq/src/pusher/log-pusher.js';
import { resolvePusherOptions } from 'nest-kq/src/pusher/pusher-options.js';
import { eventually } from 'test-servers';
import { everyLog, failing, message, type LogUnderTest } from './log-facts.js';
import { Unaware } from './unaware.js';

interface Consuming extends FailureOptions {
  readonly order?: Order;
  readonly size?: number;
}

/** A process with a pusher and a consumer of `log.topic`. */
class Shop {
  readonly errors: Error[] = [];
  /** Outcomes of its runs. */
  readonly outcomes: string[] = [];
  readonly pusher: LogPusher;
  private readonly events = new EventHub((_who, error) => {
    throw error;
  });
  private consumer: GroupConsumer | undefined;

  constructor(
    private readonly log: LogUnderTest,
    private readonly driver: LogDriver,
    transactionalId: string,
  ) {
    const parts = { events: this.events, hooks: {}, delays: new DelaysPort() };
    this.pusher = new LogPusher(driver, systemClock, resolvePusherOptions({ transactionalId }), parts);
    for (const name of ['failed', 'failedLate', 'dropped'] as const)
      this.events.on(name).subscribe(({ error, message: { value } }) => {
        this.errors.push(error);
        this.outcomes.push(`${name} ${String(value)}`);
      });
    this.events
      .on('handled')
      .subscribe(({ message }) => this.outcomes.push(`handled ${String(message.value)}`));
  }

  async consume(
    handler: (value: any, message: any) => unknown,
    { order = 'partition', size = 1, ...failures }: Consuming = {},
  ): Promise<void> {
    const { topic, group } = this.log;
    const runs = new HandlerRuns(systemClock, {
      group,
      topic,
      handler,
      batches: size > 1,
      settings: resolveFailureOptions(
        { retry: { backoff: '10ms', attempts: Infinity }, ...failures },
        { topics: [topic], group, dq: false },
      ),
      events: this.events,
      store: () => Promise.reject(new Error('there is no dead letter')),
    });
    const room = { messages: 1000, budget: new MemoryBudget(1e9) };
    const run = runs.run.bind(runs);
    this.consumer = new GroupConsumer(this.driver, systemClock, {
      group,
      from: 'first',
      heartbeatInterval: 100,
      rebalanceTimeout: 2_000,
      commitEvery: 0,
      pauses: new Pauses(),
      subscriptions: [{ topics: [topic], order, concurrency: 10, size, within: 100, room, run }],
      joined: () => {},
      lapsed: () => {},
      cut: () => {},
      failed: (error) => {
        // A broker that has just begun does not know its groups for a while.
        if (!(error instanceof KqError && error.code === 'KQ_AWAY')) this.errors.push(error);
      },
    });
    await this.consumer.start();
  }

  /** Leaves the group while its handlers continue, like a process that was frozen. */
  expel(): Promise<unknown> {
    return this.consumer!.stop(0);
  }

  async close(): Promise<void> {
    await this.consumer?.stop(0);
    await this.pusher.close();
  }
}

const shops: Shop[] = [];
afterEach(async () => {
  await Promise.all(shops.splice(0).map((shop) => shop.close()));
});

everyLog((log) => {
  const open = (driver = log.driver, id = log.topic) => {
    const shop = new Shop(log, driver, id);
    shops.push(shop);
    return shop;
  };
  const orders = (...values: readonly string[]) =>
    log.send(...values.map((value) => message(JSON.stringify(value), { partition: 0 })));
  const committed = (offset: bigint) =>
    eventually(`${offset} is committed`, async () => (await log.committed())[0] === offset);

  /** All that a reader of the results sees, in the end, of which the last is `last`. */
  async function resultsOf(topic: string, last: string): Promise<string[]> {
    const reader = await log.join({ topics: [topic], group: `${log.group}.reader` });
    await log.producer().send(topic, [message(last)]);
    await eventually('the last result comes', () => reader.values.at(-1) === last);
    return reader.values.slice(0, -1);
  }

  it('has one result for each message, whatever its handler says after the commit', async () => {
    const results = await log.topicOf(1);
    const shop = open();
    const failing = new Set(['b']);
    await orders('a', 'b', 'c');
    await shop.consume(async (value: string, got: KqMessage) => {
      await shop.pusher.transaction(async (tx) => {
        await tx.push(results, `${value}!`);
        tx.handled(got);
        if (failing.delete(value)) throw new Error('before the commit');
      });
      if (value === 'c') throw new Error('after the commit');
    });
    await committed(3n);
    await eventually('both errors are reported', () => shop.errors.length === 2);
    await expect(resultsOf(results, 'end')).resolves.toEqual(['"a!"', '"b!"', '"c!"']);
    expect(shop.errors.map((error) => error.message)).toEqual(['before the commit', 'after the commit']);
    expect(shop.outcomes).toEqual(['handled a', 'failed b', 'handled b', 'handled c', 'failedLate c']);
  });

  it('counts no attempt of a transaction that a rebalance aborted', async () => {
    const [results, elsewhere] = [await log.topicOf(1), await log.topicOf(1)];
    const driver = new Unaware(log.driver);
    const shop = open(driver);
    const attempts: number[] = [];
    await orders('a', 'b');
    await shop.consume(
      async (value: string, got: KqMessage) => {
        attempts.push(got.attempt);
        await shop.pusher.transaction(async (tx) => {
          await tx.push(results, value);
          if (attempts.length === 1) {
            driver.keep();
            await (await log.join({ topics: [elsewhere] })).has(1);
          } else driver.learn();
          tx.handled(got);
        });
      },
      { retry: { attempts: 1 }, deadLetter: 'drop' },
    );
    await committed(2n);
    expect(attempts).toEqual([1, 1, 1]);
    expect(shop.outcomes).toEqual(['failed a', 'handled a', 'handled b']);
    expect(shop.errors).toEqual([expect.any(MemberLost)]);
    await expect(resultsOf(results, 'end')).resolves.toEqual(['"a"', '"b"']);
  });

  it('takes a batch as handled, and refuses one with a gap', async () => {
    const results = await log.topicOf(1);
    const shop = open();
    await orders('a', 'b', 'c');
    let tries = 0;
    await shop.consume(
      async (values: string[], got: KqMessage[]) => {
        const first = tries++ === 0 && values.length > 1;
        await shop.pusher.transaction(async (tx) => {
          for (const value of values) await tx.push(results, value);
          tx.handled(first ? got.slice(1) : got);
        });
      },
      { size: 3 },
    );
    await committed(3n);
    await expect(resultsOf(results, 'end')).resolves.toEqual(['"a"', '"b"', '"c"']);
  });

  it('refuses a handler of another order, and what no handler got', async () => {
    const shop = open();
    const refusals: unknown[] = [];
    await orders('a');
    await shop.consume(
      async (_value: string, got: KqMessage) => {
        for (const each of [got, { topic: 'orders' } as KqMessage])
          await shop.pusher
            .transaction(async (tx) => tx.handled(each))
            .catch((error: unknown) => refusals.push(error));
      },
      { order: 'key' },
    );
    await committed(1n);
    expect(refusals).toEqual([failing('KQ_CONFIG'), failing('KQ_BAD_MESSAGE')]);
    expect(String(refusals[0])).toContain("is 'key': expected 'partition'");
  });

  it.each(['the same', 'another'])(
    'lets nothing be seen of a process that has lost the partition, where the next one has %s id',
    async (id) => {
      const results = await log.topicOf(1);
      const zombie = open();
      let goOn = () => {};
      const frozen = new Promise<void>((resolve) => (goOn = resolve));
      let stuck = false;
      const outcome: Promise<unknown>[] = [];
      await orders('a', 'b');
      await zombie.consume((_value: string, got: KqMessage) => {
        const transaction = zombie.pusher.transaction(async (tx) => {
          await tx.push(results, 'of the zombie');
          tx.handled(got);
          stuck = true;
          await frozen;
        });
        outcome.push(transaction.catch((error: unknown) => error));
        return transaction;
      });
      await eventually('its transaction is open', () => stuck);
      await zombie.expel();
      const next = open(log.other(), id === 'another' ? `${log.topic}.other` : log.topic);
      await next.consume((value: string, got: KqMessage) =>
        next.pusher.transaction(async (tx) => {
          await tx.push(results, value);
          tx.handled(got);
        }),
      );
      await committed(2n);
      goOn();
      await expect(Promise.all(outcome)).resolves.toEqual([failing('KQ_TRANSACTION')]);
      await expect(resultsOf(results, 'end')).resolves.toEqual(['"a"', '"b"']);
      await expect(log.committed()).resolves.toMatchObject({ 0: 2n });
    },
  );
});
