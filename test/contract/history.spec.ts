// The history by minute: over Redis, a Redis Cluster, and in one process.
import { beforeEach, describe, expect, it } from '@jest/globals';
import { ALL_TUBES, HOUR, MAX_TUBES, type History } from 'nest-dq/src/fleet/history.js';
import { LocalHistory } from 'nest-dq/src/fleet/local-history.js';
import { systemClock } from 'nest-handlers/time';
import { EACH_REDIS, openFleet, realRedis } from './real-redis.js';

/** The first minute of the present hour. */
const hour = () => Math.floor(systemClock.wall() / (HOUR * 60_000)) * HOUR;

/** @param historyOfProcess creates the history of another process on each call. */
function contract(historyOfProcess: () => History): void {
  it('adds up what the processes counted, by minute and tube', async () => {
    const [one, two] = [historyOfProcess(), historyOfProcess()];
    const minute = hour() + 7;
    await one.add([
      { minute, tube: 'a', counts: [1, 0, 2] },
      { minute, tube: ALL_TUBES, counts: [1, 0, 2] },
      { minute: minute + 52, tube: 'a', counts: [5, 5, 5] },
    ]);
    await two.add([
      { minute, tube: 'a', counts: [10, 0, 1_000_000] },
      { minute, tube: 'Größe „b“', counts: [0, 1, 0] },
      { minute: minute + 1, tube: 'b', counts: [0, 0, 0, 1, 0, 0, 2, 0, 0] },
    ]);
    await one.add([{ minute: minute + 1, tube: 'b', counts: [0, 1, 0, 0, 0, 0, 3, 0, 9] }]);
    const last = minute + 52;
    expect(await one.read('a', minute, last)).toEqual([
      { minute, tube: 'a', counts: [11, 0, 1_000_002] },
      { minute: last, tube: 'a', counts: [5, 5, 5] },
    ]);
    expect(await two.read('a', minute + 1, last - 1)).toEqual([]);
    expect(await two.read('Größe „b“', minute, minute)).toEqual([
      { minute, tube: 'Größe „b“', counts: [0, 1] },
    ]);
    expect(await two.read('b', minute, last)).toEqual([
      { minute: minute + 1, tube: 'b', counts: [0, 1, 0, 1, 0, 0, 5, 0, 9] },
    ]);
    expect(await two.read(ALL_TUBES, minute, last)).toEqual([{ minute, tube: ALL_TUBES, counts: [1, 0, 2] }]);
    expect(await two.read('unknown', minute, last)).toEqual([]);
  });

  it('distinguishes one hour from the other', async () => {
    const history = historyOfProcess();
    const minute = hour();
    await history.add([{ minute: minute - HOUR, tube: 'a', counts: [1] }]);
    await history.add([{ minute, tube: 'a', counts: [2] }]);
    expect(await history.read('a', minute, minute + 59)).toEqual([{ minute, tube: 'a', counts: [2] }]);
  });

  it('gives the first tubes of an hour numbers of their own, and no others', async () => {
    const history = historyOfProcess();
    const minute = hour();
    const names = Array.from({ length: MAX_TUBES + 1 }, (_, i) => `t${i}`);
    await history.add(names.map((tube) => ({ minute, tube, counts: [1] })));
    await history.add([{ minute, tube: names.at(-2)!, counts: [1] }]);
    expect(await history.read(names.at(-2)!, minute, minute)).toMatchObject([{ counts: [2] }]);
    expect(await history.read(names.at(-1)!, minute, minute)).toEqual([]);
  });

  it('has the sum of each quarter of an hour, for each tube', async () => {
    const [one, two] = [historyOfProcess(), historyOfProcess()];
    const minute = hour();
    await one.add([
      { minute, tube: 'a', counts: [1, 0, 2] },
      { minute: minute + 14, tube: 'a', counts: [1, 1, 1] },
      { minute: minute + 15, tube: 'a', counts: [5, 5, 5] },
      { minute: minute + 15, tube: ALL_TUBES, counts: [5, 5, 5] },
    ]);
    await two.add([
      { minute: minute + 59, tube: 'b', counts: [7] },
      { minute: minute + 1, tube: 'a', counts: [0, 0, 1_000_000] },
    ]);
    expect(await two.quarters(minute / HOUR)).toEqual([
      { minute, tube: 'a', counts: [2, 1, 1_000_003] },
      { minute: minute + 15, tube: 'a', counts: [5, 5, 5] },
      { minute: minute + 45, tube: 'b', counts: [7] },
    ]);
    expect(await one.quarters(minute / HOUR - 1)).toEqual([]);
    expect(await one.minutes(minute / HOUR)).toEqual([
      { minute, tube: 'a', counts: [1, 0, 2] },
      { minute: minute + 1, tube: 'a', counts: [0, 0, 1_000_000] },
      { minute: minute + 14, tube: 'a', counts: [1, 1, 1] },
      { minute: minute + 15, tube: 'a', counts: [5, 5, 5] },
      { minute: minute + 59, tube: 'b', counts: [7] },
    ]);
    expect(await one.minutes(minute / HOUR - 1)).toEqual([]);
  });

  it('has the time of the ledger', () => {
    expect(Math.abs(historyOfProcess().now() - systemClock.wall())).toBeLessThan(60_000);
  });
}

describe('the history in one process', () => {
  let history: LocalHistory;
  beforeEach(() => {
    history = new LocalHistory(() => systemClock.wall());
  });
  contract(() => history);

  it('forgets what is older than two days', async () => {
    const minute = hour();
    await history.add([{ minute: minute - 49 * HOUR, tube: 'a', counts: [1] }]);
    await history.add([{ minute: minute - 47 * HOUR, tube: 'a', counts: [1] }]);
    await history.add([{ minute, tube: 'a', counts: [1] }]);
    expect(await history.read('a', minute - 49 * HOUR, minute - 49 * HOUR)).toEqual([]);
    expect(await history.read('a', minute - 47 * HOUR, minute - 47 * HOUR)).toHaveLength(1);
  });
});

describe.each(EACH_REDIS)('the history in %s', (_name, cluster) => {
  const at = realRedis({ cluster });
  beforeEach(async () => {
    await at.inspect.flushall();
  });
  contract(() => openFleet(at.client).history);

  it('takes less than 5 KB an hour for a tube with runs of six degrees of lateness in each minute', async () => {
    const minute = hour();
    const counts = [312, 311, 1, 0, 0, 20, 141, 118, 30, 2, 0, 0, 1];
    const { history } = openFleet(at.client);
    for (let i = 0; i < HOUR; i++) await history.add([{ minute: minute + i, tube: 'order.cancel', counts }]);
    const bytes = await at.inspect.memory('USAGE', `{:}::history:${minute / HOUR}`, 'SAMPLES', 0);
    expect(bytes).toBeLessThan(5_000);
  });

  it('ignores counts in another format, and writes over them', async () => {
    const minute = hour();
    const [key, { history }] = [`{:}::history:${minute / HOUR}`, openFleet(at.client)];
    const manyZeros = Buffer.from([0x91, 0xd2, 0x80, 0, 0, 0]); // [-2147483648]
    await at.inspect.hset(key, { tubes: '["a"]', '0:1': '[7,0,2]', '1:1': '\0', '2:1': manyZeros });
    expect(await history.read('a', minute, minute + 1)).toEqual([]);
    for (let i = 0; i < 3; i++) await history.add([{ minute: minute + i, tube: 'a', counts: [1] }]);
    expect(await history.read('a', minute, minute + 2)).toEqual(
      [minute, minute + 1, minute + 2].map((each) => ({ minute: each, tube: 'a', counts: [1] })),
    );
  });

  it('expires after two days, and is of one prefix', async () => {
    const minute = hour();
    await openFleet(at.client, { prefix: 'shop.' }).history.add([{ minute, tube: 'a', counts: [1] }]);
    const left = await at.inspect.pttl(`{shop.:}::history:${minute / HOUR}`);
    expect(left).toBeGreaterThan(48 * 3_600_000);
    expect(left).toBeLessThanOrEqual(49 * 3_600_000);
    expect(await openFleet(at.client).history.read('a', minute, minute)).toEqual([]);
  });
});
