// Events that processes leave for each other: over Redis, a Redis Cluster, and in one process.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { EVENTS_KEPT, type EventLog } from 'nest-dq/src/fleet/event-log.js';
import { LocalEventLog } from 'nest-dq/src/fleet/local-event-log.js';
import { systemClock } from 'nest-handlers/time';
import { eventually } from 'test-servers';
import { EACH_REDIS, open, openFleet, realRedis } from './real-redis.js';

const stops: (() => void)[] = [];
afterEach(() => stops.splice(0).forEach((stop) => stop()));

function follow(log: EventLog) {
  const heard = { entries: [] as string[], missed: [] as number[] };
  stops.push(
    log.follow({
      appended: (entries) => heard.entries.push(...entries),
      missed: (count) => heard.missed.push(count),
    }),
  );
  return heard;
}

/** Follows, and resolves once it reads: what was appended before is not for it. */
async function following(log: EventLog) {
  const heard = follow(log);
  let probes = 0;
  await eventually('it follows', async () => {
    await log.append([`probe ${probes++}`]);
    return heard.entries.length > 0;
  });
  const last = `probe ${probes - 1}`;
  await eventually('it has all probes', () => heard.entries.at(-1) === last);
  heard.entries.length = 0;
  return heard;
}

/** @param logOfProcess creates the log of another process on each call. */
function contract(logOfProcess: () => EventLog): void {
  it('has the entries of all processes from now on, for each follower, in their order and once', async () => {
    const [one, two] = [logOfProcess(), logOfProcess()];
    await one.append(['before']);
    const heard = [await following(one), await following(two)];
    // The first also hears the second one's probes, the last of them perhaps later.
    await two.append(['ready']);
    for (const { entries } of heard) {
      await eventually('it is ready', () => entries.at(-1) === 'ready');
      entries.length = 0;
    }
    await one.append(['a', 'b']);
    await two.append(['{"by":"Größe „c“ \\u0000"}']);
    const all = ['a', 'b', '{"by":"Größe „c“ \\u0000"}'];
    for (const each of heard) {
      await eventually('it has heard all', () => each.entries.length >= 3);
      expect(each).toEqual({ entries: all, missed: [] });
    }
    stops.splice(0).forEach((stop) => stop());
    await one.append(['after']);
    await following(two);
    expect(heard.map(({ entries }) => entries)).toEqual([all, all]);
  });

  it('has the time of the ledger', () => {
    expect(Math.abs(logOfProcess().now() - systemClock.wall())).toBeLessThan(60_000);
  });
}

describe('the event log in one process', () => {
  let log: LocalEventLog;
  beforeEach(() => {
    log = new LocalEventLog(() => systemClock.wall());
  });
  contract(() => log);
});

describe.each(EACH_REDIS)('the event log in %s', (_name, cluster) => {
  const at = realRedis({ cluster });
  beforeEach(async () => {
    await at.inspect.flushall();
  });
  contract(() => openFleet(at.client).eventLog);

  const appendMany = async (log: EventLog, count: number) => {
    for (let from = 0; from < count; from += 100) {
      const size = Math.min(100, count - from);
      await log.append(Array.from({ length: size }, (_, i) => `entry ${from + i}`));
    }
  };

  it('is of one prefix, in two keys, of which the one with the entries expires', async () => {
    await openFleet(at.client, { prefix: 'shop.' }).eventLog.append(['a']);
    expect((await at.inspect.keys('*')).sort()).toEqual(['{shop.:}::event-count', '{shop.:}::events']);
    expect(await at.inspect.pttl('{shop.:}::events')).toBeGreaterThan(0);
    expect(await at.inspect.pttl('{shop.:}::event-count')).toBe(-1);
  });

  it('is bounded, and tells a follower that was too slow how many it has missed', async () => {
    const { eventLog: log } = openFleet(at.client);
    const heard = await following(log);
    const before = Number((await at.inspect.get('{:}::event-count'))!.split(' ')[1]);
    // As if others had appended this many while it was cut off.
    const [epoch] = (await at.inspect.get('{:}::event-count'))!.split(' ');
    await at.inspect.set('{:}::event-count', `${epoch} ${before + 5}`);
    await eventually('it has missed them', () => heard.missed.length > 0);
    expect(heard).toEqual({ entries: [], missed: [5] });
    await appendMany(log, EVENTS_KEPT + 50);
    expect(await at.inspect.hlen('{:}::events')).toBe(EVENTS_KEPT);
    await eventually('it has heard the last', () => heard.entries.at(-1) === `entry ${EVENTS_KEPT + 49}`);
    expect(new Set(heard.entries).size).toBe(heard.entries.length);
  });

  it('tells its followers when Redis has lost its data, and continues', async () => {
    const { eventLog: log } = openFleet(at.client);
    const heard = await following(log);
    await at.inspect.flushall();
    await log.append(['new']);
    await eventually('it has heard it', () => heard.entries.length > 0);
    expect(heard).toEqual({ entries: ['new'], missed: [0] });
  });

  it('continues after a lost connection without missing anything', async () => {
    const ledger = open(at.server.url);
    const { eventLog: log } = openFleet(at.client);
    const heard = await following(log);
    await at.inspect.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await ledger.tube('t').readTime();
    await eventually('it can append', () =>
      log.append(['a']).then(
        () => true,
        () => false,
      ),
    );
    await eventually('it has heard it', () => heard.entries.length > 0);
    expect(heard.missed).toEqual([]);
  });
});
