import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Test, type TestingModule } from '@nestjs/testing';
import { CollectingLogger } from '../../spec-support/collecting-logger.js';
import type { LogDriver } from '../driver/driver.js';
import { MemoryDriver } from '../driver/memory/memory-driver.js';
import { KqError } from '../errors.js';
import { KqHealth } from '../health/health.js';
import { ENVIRONMENT, realEnvironment } from '../nest/environment.js';
import { KqModule } from '../nest/kq-module.js';
import { TopicHandler } from '../nest/topic-handler.js';
import { KqPusher } from '../pusher/pusher.js';
import { systemClock } from 'nest-handlers/time';
import { KqGroups } from './kq-groups.js';

/** Notes what it handles, and tells whoever waits for it. */
class Reader {
  readonly seen: string[] = [];
  private waiting = () => {};

  @TopicHandler(['orders', 'mails'])
  handle(value: string): void {
    this.seen.push(value);
    this.waiting();
  }

  until(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.waiting = () => {
        if (this.seen.length >= count) resolve();
      };
      this.waiting();
    });
  }
}

let logger: CollectingLogger;
let driver: MemoryDriver;
let apps: TestingModule[];
beforeEach(async () => {
  logger = new CollectingLogger();
  const log = { debug: () => undefined, warn: () => undefined, error: () => undefined };
  driver = new MemoryDriver({ clock: systemClock, log, partitions: 1, autoCreate: false });
  await driver.admin.createTopics([
    { topic: 'orders', partitions: 2 },
    { topic: 'mails' },
    { topic: 'rest' },
  ]);
  apps = [];
});
afterEach(async () => {
  for (const app of apps) await app.close();
  await driver.close();
});

/** An application on the same log, which outlives it. */
async function start(provider: new () => object = Reader): Promise<TestingModule> {
  const lasting: LogDriver = {
    admin: driver.admin,
    producer: (options) => driver.producer(options),
    member: (options, handler) => driver.member(options, handler),
    close: async () => undefined,
  };
  const compiling = Test.createTestingModule({
    imports: [KqModule.forRoot({ logger, brokers: 'memory', group: 'shop', commitEvery: 0 })],
    providers: [provider],
  });
  const environment = { ...realEnvironment, driver: () => lasting };
  const app = await compiling.overrideProvider(ENVIRONMENT).useValue(environment).compile();
  apps.push(app);
  return app.init();
}

async function push(app: TestingModule, topic: string, ...values: readonly string[]): Promise<void> {
  for (const value of values) await app.get(KqPusher).push(topic, value, { partition: 0 });
}

/** Resolves once the memory log has nothing more to do by itself. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
}

describe('KqGroups', () => {
  it('shows how far any group is', async () => {
    const app = await start();
    await push(app, 'orders', 'a', 'b');
    await app.get(Reader).until(2);
    await driver.admin.setCommitted('other', 'orders', [{ partition: 0, offset: 1n }]);
    const groups = app.get(KqGroups);
    expect(await groups.topics()).toEqual([
      { topic: 'mails', partitions: 1 },
      { topic: 'orders', partitions: 2 },
      { topic: 'rest', partitions: 1 },
    ]);
    const partitions = [
      { partition: 0, first: '0', end: '2', committed: '1', lag: 1 },
      { partition: 1, first: '0', end: '0', lag: 0 },
    ];
    const other = { group: 'other', lag: 1, topics: [{ topic: 'orders', lag: 1, partitions }] };
    expect(await groups.group('other')).toEqual(other);
    expect(await groups.group('other', ['orders'])).toEqual(other);
    expect(await groups.group('other', ['mails'])).toEqual({ group: 'other', lag: 0, topics: [] });
    expect(await groups.group('nobody')).toEqual({ group: 'nobody', lag: 0, topics: [] });
    await expect(groups.group('other', ['none'])).rejects.toMatchObject({ code: 'KQ_UNKNOWN_TOPIC' });
  });

  it('pauses a topic or a group in this process, shows it in the health, and resumes after `resume`', async () => {
    const app = await start();
    const reader = app.get(Reader);
    const groups = app.get(KqGroups);
    const paused = async () => (await app.get(KqHealth).check()).kq.groups['shop']?.paused;
    groups.pause({ topic: 'orders' });
    expect(await paused()).toEqual(['orders']);
    await push(app, 'orders', 'a');
    await push(app, 'mails', 'm');
    await reader.until(1);
    await settled();
    expect(reader.seen).toEqual(['m']);
    groups.resume({ topic: 'orders', group: 'shop' });
    await reader.until(2);
    expect(await paused()).toBeUndefined();
    groups.pause();
    expect(await paused()).toBe(true);
    await push(app, 'mails', 'n');
    await settled();
    expect(reader.seen).toEqual(['m', 'a']);
    expect(await app.get(KqHealth).check('kq', { maxLag: 0 })).toMatchObject({
      kq: { status: 'down', groups: { shop: { state: 'up', lag: 1 } } },
    });
    groups.resume();
    await reader.until(3);
  });

  it('refuses to pause what this process does not have', async () => {
    const groups = (await start()).get(KqGroups);
    expect(() => groups.pause({ topic: 'rest' })).toThrow(
      /^KQ_BAD_OPTION: `topic` is 'rest': expected a topic this process handles in shop$/,
    );
    expect(() => groups.resume({ group: 'ship' })).toThrow(
      /^KQ_BAD_OPTION: `group` is 'ship': expected a group of this process: shop$/,
    );
    expect(() => groups.pause({ topics: ['orders'] } as never)).toThrow(
      /KQ_BAD_OPTION: there is no `topics`/,
    );
  });

  it('seeks while the application runs: to the first message, an offset and a time', async () => {
    const app = await start();
    const reader = app.get(Reader);
    const groups = app.get(KqGroups);
    await app.get(KqPusher).push('orders', 'a', { partition: 0, timestamp: 1_000 });
    await app.get(KqPusher).push('orders', 'b', { partition: 0, timestamp: 2_000 });
    await reader.until(2);
    expect(await groups.seek('shop', 'orders', { to: 'first' })).toEqual({ 0: '0', 1: '0' });
    await reader.until(4);
    expect(await groups.seek('shop', 'orders', { to: { 0: '1' } })).toEqual({ 0: '1' });
    await reader.until(5);
    expect(await groups.seek('shop', 'orders', { to: new Date(1_500) })).toEqual({ 0: '1', 1: '0' });
    await reader.until(6);
    expect(reader.seen).toEqual(['a', 'b', 'a', 'b', 'b', 'b']);
    expect(logger.matching(/continues/)[1]).toBe('the group shop continues with orders/0 from 1');
  });

  it('seeks to after the last message, from where only new ones come, and stays paused', async () => {
    const app = await start();
    const reader = app.get(Reader);
    const groups = app.get(KqGroups);
    groups.pause({ topic: 'orders' });
    await push(app, 'orders', 'a', 'b');
    await groups.seek('shop', 'orders', { to: 'last' });
    await push(app, 'orders', 'c');
    await settled();
    expect(reader.seen).toEqual([]);
    groups.resume();
    await reader.until(1);
    expect(reader.seen).toEqual(['c']);
  });

  it('seeks in all partitions but one without a leader, which it names', async () => {
    const app = await start();
    for (const value of ['a', 'b']) await app.get(KqPusher).push('orders', value, { partition: 1 });
    await app.get(Reader).until(2);
    jest.spyOn(driver.admin, 'ends').mockRejectedValue(new KqError('KQ_AWAY', 'no leader'));
    const led = { partition: 1, first: 0n, end: 2n };
    const endsOfLed = jest.spyOn(driver.admin, 'endsOfLed').mockResolvedValue([undefined, led]);
    const offsetsAt = jest.spyOn(driver.admin, 'offsetsAt');
    const seek = (to: never) => app.get(KqGroups).seek('shop', 'orders', { to });
    expect(await seek('last' as never)).toEqual({ 1: '2' });
    expect(logger.lines.map(({ message }) => message)).toContainEqual(
      expect.stringContaining('the group shop keeps its position in orders/0: no leader knows the end'),
    );
    expect(await seek(new Date(0) as never)).toEqual({ 1: '0' });
    expect(offsetsAt).toHaveBeenCalledWith('orders', 0, [1]);
    expect(await seek({ 1: '1' } as never)).toEqual({ 1: '1' });
    await expect(seek({ 0: '0' } as never)).rejects.toThrow('KQ_AWAY: orders/0: no leader knows the end');
    endsOfLed.mockResolvedValue([undefined, undefined]);
    await expect(seek('first' as never)).rejects.toThrow('KQ_AWAY: no leader');
  });

  it('sets nothing while another process is in the group, and continues', async () => {
    const [app, other] = [await start(), await start()];
    await push(app, 'orders', 'a');
    await Promise.race([app, other].map((each) => each.get(Reader).until(1)));
    await expect(app.get(KqGroups).seek('shop', 'orders', { to: 'first' })).rejects.toThrow(
      /^KQ_GROUP_BUSY: the group shop has 1 member: expected none; nothing was set; stop the other processes of the group/,
    );
    await other.close();
    await app.get(KqGroups).seek('shop', 'orders', { to: 'last' });
    const reader = app.get(Reader);
    const before = reader.seen.length;
    await push(app, 'orders', 'b');
    await reader.until(before + 1);
    expect(reader.seen.at(-1)).toBe('b');
  });

  it.each<[unknown, RegExp]>([
    [{ to: { 0: 2 } }, /`to` for orders\/0 is 2: expected an offset from 0 .* to 1 /],
    [{ to: { 0: -1n } }, /`to` for orders\/0 is -1n: expected an offset/],
    [{ to: { 0: 0, 7: 0 } }, /a partition of orders in `to` is '7': expected 0 to 1/],
    [{ to: {} }, /`to` is {}: expected 'first', 'last', a Date/],
    [{ to: 'begin' }, /`to` is 'begin': expected 'first'/],
    [{ to: new Date(NaN) }, /`to` is Invalid Date/],
    [{ at: 'first' }, /there is no `at`/],
    ['first', /the options of `seek` are 'first'/],
  ])('refuses the target %p, and leaves the group as it is', async (target, expected) => {
    const app = await start();
    await push(app, 'orders', 'a');
    await app.get(Reader).until(1);
    const seeking = app.get(KqGroups).seek('shop', 'orders', target as never);
    await expect(seeking).rejects.toThrow(expected);
    await expect(seeking).rejects.toMatchObject({ code: 'KQ_BAD_OPTION' });
    expect(logger.matching(/rejoined the group shop/)).toEqual([]);
  });
});
