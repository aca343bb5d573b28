import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Injectable, Logger, Module } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { CollectingLogger } from '../../spec-support/collecting-logger.js';
import { Discard, Retry } from '../api/outcome.js';
import { KqMessage } from '../api/received.js';
import { defineTopic } from '../api/topic.js';
import { KqModule } from '../nest/kq-module.js';
import { TopicHandler } from '../nest/topic-handler.js';
import { KqPusher } from '../pusher/pusher.js';
import { KqTestKit, type KqTestKitOptions, type MessageCounts } from './kq-test-kit.js';

const START = new Date('2030-01-01T00:00:00Z');
const NONE: MessageCounts = { started: 0, handled: 0, failed: 0, dead: 0 };
const Orders = defineTopic<string>('orders');
const logger = new CollectingLogger();

/** The handler of each test. */
let handle: (value: string, message: KqMessage) => unknown;
let runs: [value: string, at: number][];
let kit: KqTestKit;
let app: TestingModule | undefined;

@Injectable()
class Witness {
  @TopicHandler(Orders, { deadLetter: 'orders.dead', retry: { backoff: '1m' } })
  placed(value: string, message: KqMessage): unknown {
    runs.push([value, elapsed()]);
    return handle(value, message);
  }
}

@Module({
  imports: [KqModule.forRoot({ brokers: ['nowhere:1'], group: 'shop', logger })],
  providers: [Witness],
})
class AppModule {}

@Injectable()
class ExactWitness {
  @TopicHandler(Orders, { order: 'partition' })
  placed(value: string, message: KqMessage): unknown {
    return handle(value, message);
  }
}

@Module({
  imports: [KqModule.forRoot({ group: 'shop', logger, pusher: { transactionalId: 'shop' } })],
  providers: [ExactWitness],
})
class ExactModule {}

const elapsed = () => kit.now.getTime() - START.getTime();
const compile = (module: new () => unknown = AppModule) =>
  kit.override(Test.createTestingModule({ imports: [module] })).compile();

async function start(module?: new () => unknown): Promise<KqPusher> {
  app = await compile(module);
  await app.init();
  return app.get(KqPusher);
}

beforeEach(() => {
  Logger.overrideLogger(false);
  handle = () => undefined;
  runs = [];
  kit = new KqTestKit({ now: START });
});

afterEach(async () => {
  await app?.close();
  app = undefined;
  await kit.close();
});

describe('a test kit', () => {
  it('handles pushed messages only on request', async () => {
    const pusher = await start();
    for (const value of ['a', 'b', 'c']) await pusher.push(Orders, value, { key: value });
    await new Promise((resolve) => setImmediate(resolve));
    expect(runs).toEqual([]);
    expect(await kit.run()).toEqual({ ...NONE, started: 3, handled: 3 });
    expect(runs.map(([value]) => value).sort()).toEqual(['a', 'b', 'c']);
    expect(await kit.run()).toEqual(NONE);
  });

  it('waits for handlers that take real time, and for all that they push', async () => {
    const pusher = await start();
    handle = async (value) => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      if (value.length < 4) await pusher.push(Orders, `${value}x`, { key: 'k' });
    };
    await pusher.push(Orders, 'x', { key: 'k' });
    expect(await kit.run()).toEqual({ ...NONE, started: 4, handled: 4 });
    expect(runs.map(([value]) => value)).toEqual(['x', 'xx', 'xxx', 'xxxx']);
  });

  it('moves the time from retry to retry, to the dead letter', async () => {
    const pusher = await start();
    handle = () => Promise.reject(new Error('no'));
    await pusher.push(Orders, 'a', { key: 'k' });
    expect(await kit.run()).toEqual({ ...NONE, started: 1, failed: 1 });
    expect(await kit.advance('59s')).toEqual(NONE);
    expect(await kit.advance('1h')).toEqual({ started: 2, handled: 0, failed: 2, dead: 1 });
    expect(runs.map(([, at]) => at)).toEqual([0, 60_000, 120_000]);
    expect(kit.messages('orders.dead')).toMatchObject([
      { key: 'k', value: 'a', headers: { 'kq-error-message': 'no', 'kq-why': 'attempts' } },
    ]);
  });

  it('counts what is discarded, and what cannot be read', async () => {
    const pusher = await start();
    handle = (value) => (value === 'b' ? Retry.after('5s') : Discard.because('gone'));
    await pusher.push(Orders, 'a', { key: 'a' });
    await pusher.push(defineTopic('orders', { format: 'text' }), '{', { key: 'b' });
    expect(await kit.run()).toEqual({ started: 2, handled: 0, failed: 2, dead: 2 });
    expect(runs).toHaveLength(1);
  });

  it('counts what fails after its commit as failed, and its message as handled', async () => {
    const pusher = await start(ExactModule);
    handle = async (value, message) => {
      await pusher.transaction(async (tx) => {
        await tx.push('results', value);
        tx.handled(message);
      });
      throw new Error('too late');
    };
    await pusher.push(Orders, 'a');
    expect(await kit.advance('1h')).toEqual({ started: 1, handled: 1, failed: 1, dead: 0 });
    expect(kit.messages('results')).toMatchObject([{ value: 'a' }]);
  });

  it('leaps over months in which nothing happens', async () => {
    const pusher = await start();
    await kit.advance('365d');
    await pusher.push(Orders, 'a');
    expect(await kit.advanceTo(new Date('2032-01-01T00:00:00Z'))).toEqual({
      ...NONE,
      started: 1,
      handled: 1,
    });
    expect(runs).toEqual([['a', 365 * 86_400_000]]);
    expect(kit.now).toEqual(new Date('2032-01-01T00:00:00Z'));
  });

  it('continues without a handler that does not end, and counts it when it does', async () => {
    kit = new KqTestKit({ now: START, patience: '10ms' });
    const pusher = await start();
    let end = () => {};
    handle = () => new Promise<void>((resolve) => (end = resolve));
    await pusher.push(Orders, 'a');
    expect(await kit.advance('1h')).toEqual({ ...NONE, started: 1 });
    end();
    expect(await kit.run()).toEqual({ ...NONE, handled: 1 });
  });

  it('shows the messages of a topic in their order, with keys and headers as strings', async () => {
    const pusher = await start();
    await pusher.push('mails', { to: 'ann' }, { key: 'ann', headers: { lang: ['en', 'zh'], by: 'test' } });
    await kit.advance('1s');
    await pusher.push('mails', null, { key: 'bob' });
    expect(kit.messages('mails')).toEqual([
      {
        partition: expect.any(Number),
        offset: '0',
        key: 'ann',
        value: { to: 'ann' },
        headers: { lang: ['en', 'zh'], by: 'test' },
        timestamp: START.getTime(),
      },
      expect.objectContaining({ key: 'bob', value: null, headers: {}, timestamp: START.getTime() + 1_000 }),
    ]);
    expect(() => kit.messages('mails', 'audit')).toThrow(
      "KQ_CONFIG: the cluster is 'audit': this kit has the unnamed one",
    );
  });

  it('pushes into a class that is tested without Nest', async () => {
    await kit.pusher.push(Orders, 'a');
    expect(kit.messages(Orders)).toMatchObject([{ value: 'a' }]);
    expect(await kit.run()).toEqual(NONE);
  });

  it('keeps the topics and offsets of an application that was closed for the next one', async () => {
    const pusher = await start();
    await pusher.push(Orders, 'a');
    await kit.run();
    await pusher.push(Orders, 'b');
    await app!.close();
    expect(runs).toHaveLength(1);
    await start();
    expect(await kit.run()).toEqual({ ...NONE, started: 1, handled: 1 });
    expect(runs.map(([value]) => value)).toEqual(['a', 'b']);
  });

  it('says what was forgotten', async () => {
    await expect(kit.run()).rejects.toThrow('KQ_CONFIG: no application uses this kit: call `kit.override');
    app = await compile();
    await expect(kit.run()).rejects.toThrow('KQ_CONFIG: an application on this kit was not started');
    await app.close();
    await expect(kit.run()).resolves.toEqual(NONE);
    await kit.close();
    await expect(kit.run()).rejects.toThrow('KQ_CLOSED: the test kit is closed');
  });

  it('checks the options of the application all the same', async () => {
    @Module({ imports: [KqModule.forRoot({ brokers: ['nowhere:1'] })], providers: [Witness] })
    class WithoutGroup {}
    await expect(start(WithoutGroup)).rejects.toThrow('it has no `group`');
  });

  it.each<[KqTestKitOptions, string]>([
    [{ partitions: 0 }, '`partitions` is 0: expected a whole number from 1 to 1000'],
    [{ patience: '-1s' as '1s' }, "`patience` is '-1s': negative"],
    [{ now: 5 }, '`now` is 5: that looks like a time from now'],
    [{ dq: {} } as KqTestKitOptions, '`dq` is {}: expected a DqTestKit of nest-dq/testing'],
    [{ nodes: 3 } as KqTestKitOptions, 'there is no `nodes` in the options of the test kit'],
  ])('refuses %p', (options, why) => {
    expect(() => new KqTestKit(options)).toThrow(`KQ_BAD_OPTION: ${why}`);
  });

  it('refuses to go back in time', async () => {
    await start();
    await expect(kit.advanceTo(new Date(0))).rejects.toThrow(
      'KQ_BAD_OPTION: the time to advance to is 1970-01-01T00:00:00.000Z, but it is 2030-01-01T00:00:00.000Z',
    );
    await expect(kit.advance('soon' as '1s')).rejects.toThrow(
      "KQ_BAD_OPTION: the time to advance by is 'soon'",
    );
  });
});
