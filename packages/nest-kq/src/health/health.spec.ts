import { beforeEach, describe, expect, it } from '@jest/globals';
import type { LogAdmin } from '../driver/driver.js';
import { MemoryDriver } from '../driver/memory/memory-driver.js';
import { KqError } from '../errors.js';
import { systemClock, type Clock } from 'nest-handlers/time';
import { GroupsHealth, type GroupState, type KqHealthBounds } from './health.js';

const silent = { debug: () => undefined, warn: () => undefined, error: () => undefined };
const OLD = Date.UTC(2026, 0, 1);

let driver: MemoryDriver;
beforeEach(async () => {
  driver = new MemoryDriver({ clock: systemClock, log: silent, partitions: 3 });
  await driver.admin.createTopics([{ topic: 'orders', partitions: 3 }]);
  const messages = Array.from({ length: 5 }, () => ({ key: null, value: Buffer.from('v'), partition: 1 }));
  await driver.producer().send('orders', messages);
});

function progress(partition: number, watermark?: bigint, oldest?: number) {
  return { topic: 'orders', partition, watermark, oldest, end: 0n, stalled: false };
}

function group(...parts: GroupState['progress']): GroupState {
  return { group: 'shop', state: 'up', progress: parts, paused: undefined, unavailable: [] };
}

function check(states: readonly GroupState[], bounds?: KqHealthBounds, admin: LogAdmin = driver.admin) {
  return new GroupsHealth(admin, systemClock, () => states).check('kq', bounds);
}

describe('the health of groups', () => {
  it('shows how many messages wait in each partition, and since when', async () => {
    const shop = group(progress(1, 2n, OLD), progress(0, 0n), progress(2));
    expect(await check([shop])).toEqual({
      kq: {
        status: 'up',
        groups: {
          shop: {
            state: 'up',
            lag: 3,
            oldest: new Date(OLD),
            partitions: { 'orders/0': 0, 'orders/1': 3, 'orders/2': 0 },
          },
        },
      },
    });
  });

  it('counts from the committed offset where nothing has come yet, or else from the first message', async () => {
    expect(await check([group(progress(1))])).toMatchObject({ kq: { groups: { shop: { lag: 5 } } } });
    await driver.admin.setCommitted('shop', 'orders', [{ partition: 1, offset: 4n }]);
    expect(await check([group(progress(1))])).toMatchObject({ kq: { groups: { shop: { lag: 1 } } } });
  });

  it('names the message that holds up a partition', async () => {
    const shop = group({ ...progress(1, 2n, OLD), stalled: true }, progress(0, 0n));
    expect(await check([shop])).toMatchObject({
      kq: { status: 'up', groups: { shop: { stalled: { 'orders/1': '2' } } } },
    });
  });

  it('is down beyond `maxLag`', async () => {
    const shop = group(progress(1, 2n));
    expect(await check([shop], { maxLag: 3 })).toMatchObject({ kq: { status: 'up' } });
    expect(await check([shop], { maxLag: 2 })).toMatchObject({ kq: { status: 'down' } });
  });

  it('says why a lag is unknown, which counts as too large', async () => {
    const admin = Object.assign(Object.create(driver.admin) as LogAdmin, {
      endsOfLed: () => Promise.reject(new KqError('KQ_AWAY', 'connect ECONNREFUSED')),
    });
    const shop = group(progress(1, 2n));
    expect(await check([shop], {}, admin)).toEqual({
      kq: {
        status: 'up',
        groups: {
          shop: { state: 'up', partitions: { 'orders/1': null }, unknown: 'KQ_AWAY: connect ECONNREFUSED' },
        },
      },
    });
    expect(await check([shop], { maxLag: 100 }, admin)).toMatchObject({ kq: { status: 'down' } });
  });

  it('knows the lag of the other partitions where one has no leader, and is not down for it', async () => {
    const admin = Object.assign(Object.create(driver.admin) as LogAdmin, {
      endsOfLed: async () => (await driver.admin.ends('orders')).with(0, undefined as never),
    });
    const shop = group(progress(0, 2n), progress(1, 2n));
    expect(await check([shop], { maxLag: 3 }, admin)).toEqual({
      kq: {
        status: 'up',
        groups: { shop: { state: 'up', lag: 3, partitions: { 'orders/0': null, 'orders/1': 3 } } },
      },
    });
  });

  it('waits a second for the brokers', async () => {
    const waits: number[] = [];
    const clock: Clock = {
      ...systemClock,
      after(delay, callback) {
        waits.push(delay);
        return systemClock.after(0, callback);
      },
    };
    const admin = Object.assign(Object.create(driver.admin) as LogAdmin, {
      endsOfLed: () => new Promise(() => {}),
    });
    const health = new GroupsHealth(admin, clock, () => [group(progress(1, 2n))]);
    expect(await health.check()).toMatchObject({
      kq: { groups: { shop: { unknown: 'no broker answered within 1000 ms' } } },
    });
    expect(waits).toEqual([1_000]);
  });

  it('puts two members of one group together', async () => {
    const lazy: GroupState = {
      group: 'shop',
      state: 'joining',
      progress: [],
      paused: ['mails'],
      unavailable: [],
    };
    const shop = { state: 'joining', partitions: { 'orders/1': 3 }, paused: ['mails'] };
    expect(await check([group(progress(1, 2n)), lazy])).toEqual({
      kq: { status: 'down', groups: { shop } },
    });
  });

  it.each([[{ maxLag: -1 }], [{ maxLag: '5' }], [{ most: 5 }], [null]])(
    'refuses the bounds %j',
    async (bounds) => {
      await expect(check([], bounds as never)).rejects.toMatchObject({ code: 'KQ_BAD_OPTION' });
    },
  );
});
