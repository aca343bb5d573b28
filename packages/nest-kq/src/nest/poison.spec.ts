// Messages that fail, in applications that say little or nothing of it, on a clock that the spec moves.
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Injectable, Logger, type Provider } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { CollectingLogger } from '../../spec-support/collecting-logger.js';
import { Discard, Retry } from '../api/outcome.js';
import type { KqMessage } from '../api/received.js';
import { defineTopic } from '../api/topic.js';
import { MemoryDriver } from '../driver/memory/memory-driver.js';
import { KqError } from '../errors.js';
import { KqEvents } from '../events/events.js';
import { KqHealth } from '../health/health.js';
import { KqPusher } from '../pusher/pusher.js';
import { KqTestKit } from '../test-kit/kq-test-kit.js';
import { systemClock, type Clock } from 'nest-handlers/time';
import { ENVIRONMENT, realEnvironment } from './environment.js';
import type { TopicHandlerOptions } from './handler-options.js';
import { KqModule } from './kq-module.js';
import { TopicHandler } from './topic-handler.js';

const Bytes = defineTopic('orders', { format: 'bytes' });
const START = new Date('2030-01-01T00:00:00Z');

interface Seen {
  readonly value: unknown;
  readonly attempt: number;
  readonly attempts: number;
  readonly offset: string;
  readonly topic: string;
  readonly headers: readonly string[];
  /** Time of the dead letter, in s. */
  readonly at: number;
}

let kit: KqTestKit;
let app: TestingModule;
let logger: CollectingLogger;
let seen: Seen[];
beforeEach(() => {
  Logger.overrideLogger(false);
  kit = new KqTestKit({ now: START, partitions: 1 });
  logger = new CollectingLogger();
  seen = [];
});
afterEach(async () => {
  await app.close();
  await kit.close();
});

function handlerOf(
  act: (value: any, message: KqMessage) => unknown,
  options: TopicHandlerOptions & { batch?: undefined } = {},
  topics: string | RegExp = 'orders',
): Provider {
  @Injectable()
  class Handlers {
    @TopicHandler(topics, options)
    handle(value: any, message: KqMessage<any>): unknown {
      const { topic, attempt, attempts, offset, headers } = message;
      const at = (kit.now.getTime() - START.getTime()) / 1_000;
      seen.push({ value, topic, attempt, attempts, offset, headers: Object.keys(headers), at });
      return act(value, message);
    }
  }
  return Handlers;
}

async function start(...providers: Provider[]): Promise<void> {
  const module = KqModule.forRoot({ group: 'shop', logger });
  app = await kit.override(Test.createTestingModule({ imports: [module], providers })).compile();
  await app.init();
}

describe('a poison message of a handler without options', () => {
  it('lets the lag of its partition fall, and the log says where it is', async () => {
    await start(handlerOf(() => undefined));
    await kit.pusher.push(Bytes, Buffer.from('{ "id": '), { key: 'k' });
    await kit.pusher.push('orders', { id: 7 }, { key: 'k' });
    await kit.advance('1s');
    expect(seen.map(({ value }) => value)).toEqual([{ id: 7 }]);
    expect((await app.get(KqHealth).check()).kq.groups['shop']).toMatchObject({ state: 'up', lag: 0 });
    const [line] = logger.matching(/dead-lettered/);
    expect(line).toMatch(
      'message 0 of orders/0 with the key "k" was dead-lettered to orders.shop.kq-dead, because its value cannot be read',
    );
    const [letter] = kit.messages(defineTopic('orders.shop.kq-dead', { format: 'text' }));
    expect(letter).toMatchObject({ value: '{ "id": ', key: 'k', headers: { 'kq-offset': '0' } });
  });

  it('is not run by a handler of an expression, though its dead letter matches that', async () => {
    await start(
      handlerOf(
        () => {
          throw new Error('slip');
        },
        {},
        /orders/,
      ),
    );
    await kit.pusher.push('orders', 1);
    await kit.advance('2m');
    expect(seen.map(({ topic, attempt }) => [topic, attempt])).toEqual([1, 2, 3].map((n) => ['orders', n]));
    expect(kit.messages('orders.shop.kq-dead')).toHaveLength(1);
  });
});

describe('a failure through retry topics', () => {
  const through = { retry: { through: 'topics', delays: ['10s', '2m'] } } as const;

  it('waits in one topic after the other, holds nothing up, and then is a dead letter', async () => {
    await start(
      handlerOf((value) => {
        if (value === 'bad') throw new Error('no stock');
      }, through),
    );
    const options = { key: 'k', headers: { h: 'ä' } };
    for (const value of ['bad', 'good']) await kit.pusher.push('orders', value, options);
    await kit.advance('1s');
    expect(seen.map(({ value }) => value)).toEqual(['bad', 'good']);
    const health = await app.get(KqHealth).check();
    expect(health.kq.groups['shop']!.partitions).toMatchObject({
      'orders/0': 0,
      'orders.shop.kq-retry-10s/0': 1,
    });
    await kit.advance('5m');
    const bad = seen.filter(({ value }) => value === 'bad');
    const same = { topic: 'orders', offset: '0', attempts: 3, headers: ['h'] };
    expect(bad).toMatchObject([
      { ...same, attempt: 1, at: 0 },
      { ...same, attempt: 2, at: 10 },
      { ...same, attempt: 3, at: 130 },
    ]);
    const headers = {
      'kq-topic': 'orders',
      'kq-offset': '0',
      'kq-attempts': '3',
      'kq-why': 'attempts',
      h: 'ä',
    };
    expect(kit.messages('orders.shop.kq-dead')).toMatchObject([{ value: 'bad', key: 'k', headers }]);
    const waited = kit.messages('orders.shop.kq-retry-2m').map(({ headers: { ...all } }) => all);
    expect(waited).toMatchObject([{ 'kq-attempts': '2', 'kq-error-message': 'no stock', 'kq-why': 'retry' }]);
  });

  it('ends as soon as a run goes well, and obeys Retry and Discard', async () => {
    await start(
      handlerOf((value, { attempt }) => {
        if (value === 'well' && attempt < 3) throw new Error('slip');
        if (value === 'later' && attempt === 1) return Retry.after('30s');
        return value === 'hopeless' ? Discard.because('gone') : undefined;
      }, through),
    );
    for (const value of ['well', 'later', 'hopeless']) await kit.pusher.push('orders', value);
    await kit.advance('10m');
    expect(seen.map(({ value, attempt, at }) => [value, attempt, at])).toEqual([
      ['well', 1, 0],
      ['later', 1, 0],
      ['hopeless', 1, 0],
      ['well', 2, 10],
      ['later', 2, 30],
      ['well', 3, 130],
    ]);
    expect(kit.messages('orders.shop.kq-dead')).toMatchObject([{ value: 'hopeless' }]);
  });

  it('is that of one group only', async () => {
    const fails = () => {
      throw new Error('slip');
    };
    await start(
      handlerOf(fails, { ...through, group: 'a' }),
      handlerOf(() => undefined, { group: 'b' }),
    );
    await kit.pusher.push('orders', 1);
    await kit.advance('10m');
    expect(seen.map(({ attempt }) => attempt)).toEqual([1, 1, 2, 3]);
    expect(kit.messages('orders.a.kq-dead')).toHaveLength(1);
  });

  it('takes a message that someone else has put into its topic for one of the handler', async () => {
    await start(handlerOf(() => undefined, through));
    const headers = { 'kq-due': 'soon', 'kq-offset': '-1', 'kq-partition': 'x', 'kq-attempts': '' };
    await kit.pusher.push('orders.shop.kq-retry-10s', 7, { headers });
    await kit.advance('1s');
    expect(seen).toMatchObject([{ value: 7, topic: 'orders', offset: '0', attempt: 1, headers: [] }]);
  });
});

it('holds a poison message, and only its key, while the brokers let nobody create its topic', async () => {
  const log = { debug: () => {}, warn: () => {}, error: () => {} };
  // Timers end at once: what waits for one is the retry of what is held.
  const clock: Clock = { ...systemClock, after: (_, callback) => systemClock.after(0, callback) };
  const driver = new MemoryDriver({ clock, log, autoCreate: false, partitions: 1 });
  await driver.admin.createTopics([{ topic: 'orders' }]);
  const create = jest.spyOn(driver.admin, 'createTopics');
  const refused = new KqError('KQ_REFUSED', 'no right to create topics');
  create.mockRejectedValue(refused);
  const handled: unknown[] = [];
  @Injectable()
  class Handlers {
    @TopicHandler('orders')
    handle(value: unknown): void {
      handled.push(value);
    }
  }
  const module = KqModule.forRoot({ group: 'shop', logger });
  app = await Test.createTestingModule({ imports: [module], providers: [Handlers] })
    .overrideProvider(ENVIRONMENT)
    .useValue({ ...realEnvironment, clock, driver: () => driver })
    .compile();
  const held = new Promise((resolve) => app.get(KqEvents).on('held').subscribe(resolve));
  const died = new Promise((resolve) => app.get(KqEvents).on('died').subscribe(resolve));
  await app.init();
  const pusher = app.get(KqPusher);
  await pusher.push(Bytes, Buffer.from('{'), { key: 'k' });
  expect(await held).toMatchObject({ why: 'unreadable', trouble: refused });
  await pusher.push('orders', 'of another key', { key: 'l' });
  await pusher.push('orders', 'behind it', { key: 'k' });
  while (handled.length < 1) await new Promise(setImmediate);
  expect(handled).toEqual(['of another key']);
  expect(logger.matching(/message 0 .* blocks the messages after it: .* KQ_REFUSED: no right/)).toHaveLength(
    1,
  );
  create.mockRestore();
  expect(await died).toMatchObject({ topic: 'orders.shop.kq-dead' });
  while (handled.length < 2) await new Promise(setImmediate);
  expect(driver.stored('orders.shop.kq-dead')).toHaveLength(1);
  expect(logger.matching(/created the topic orders.shop.kq-dead for failed messages of orders/)).toHaveLength(
    1,
  );
});
