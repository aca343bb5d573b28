// Acts of operators: over Redis, a Redis Cluster, in one process, and in a folder.
import { beforeEach, describe, expect, it } from '@jest/globals';
import { restartsOnDisk } from 'nest-dq/spec-support/restarts-on-disk.js';
import { MAX_ACTS, type Acts } from 'nest-dq/src/fleet/acts.js';
import { LocalActs } from 'nest-dq/src/fleet/local-acts.js';
import { systemClock } from 'nest-handlers/time';
import { EACH_REDIS, openFleet, realRedis } from './real-redis.js';

async function textsOf(acts: Acts, before?: number, limit = 10): Promise<string[]> {
  return (await acts.read(before, limit)).map(({ text }) => text);
}

/** @param actsOfProcess creates the acts of another process on each call. */
function contract(actsOfProcess: () => Acts): void {
  it('has the acts of all processes, the latest first, page by page', async () => {
    const [one, two] = [actsOfProcess(), actsOfProcess()];
    expect(await textsOf(one)).toEqual([]);
    await one.add(['a', 'b']);
    await two.add(['{"by":"Größe „c“ \\u0000 \\ud800"}']);
    const all = await two.read(undefined, 10);
    expect(all.map(({ text }) => text)).toEqual(['{"by":"Größe „c“ \\u0000 \\ud800"}', 'b', 'a']);
    const [c, b, a] = all as [(typeof all)[0], (typeof all)[0], (typeof all)[0]];
    expect(c.place > b.place && b.place > a.place).toBe(true);
    expect(await one.read(undefined, 2)).toEqual([c, b]);
    expect(await textsOf(one, b.place)).toEqual(['a']);
    expect(await textsOf(one, a.place)).toEqual([]);
  });

  it('leaves an act that is added again where it is', async () => {
    const acts = actsOfProcess();
    await acts.add(['a']);
    const [first] = await acts.read(undefined, 1);
    await acts.add(['b', 'a']);
    expect(await textsOf(acts)).toEqual(['b', 'a']);
    expect((await acts.read(undefined, 2)).at(-1)).toEqual(first);
  });

  it('drops the oldest where there are too many', async () => {
    const acts = actsOfProcess();
    for (let i = 0; i < MAX_ACTS; i += 100)
      await acts.add(Array.from({ length: 100 }, (_, more) => `act ${i + more}`));
    await acts.add(['the last one', 'no, this one']);
    const texts = await textsOf(acts, undefined, MAX_ACTS + 10);
    expect(texts).toHaveLength(MAX_ACTS);
    expect([texts.slice(0, 3), texts.at(-1)]).toEqual([
      ['no, this one', 'the last one', `act ${MAX_ACTS - 1}`],
      'act 2',
    ]);
  });

  it('has the time of the ledger', () => {
    expect(Math.abs(actsOfProcess().now() - systemClock.wall())).toBeLessThan(60_000);
  });
}

describe('the acts in one process', () => {
  let acts: LocalActs;
  beforeEach(() => {
    acts = new LocalActs(() => systemClock.wall());
  });
  contract(() => acts);
});

describe('the acts in a folder', () => {
  let acts: LocalActs;
  const folder = restartsOnDisk(async (disk) => {
    acts = new LocalActs(() => systemClock.wall(), disk);
    await acts.load();
    return () => undefined;
  });
  contract(() => acts);

  it('are there after a restart, in their order, and none that was dropped', async () => {
    await acts.add(Array.from({ length: MAX_ACTS + 1 }, (_, i) => `act ${i}`));
    const before = await acts.read(undefined, MAX_ACTS + 10);
    await folder.restart();
    expect(await acts.read(undefined, MAX_ACTS + 10)).toEqual(before);
    await acts.add(['after it']);
    expect(await textsOf(acts, undefined, 2)).toEqual(['after it', `act ${MAX_ACTS}`]);
    await folder.restart();
    expect(await textsOf(acts, undefined, 2)).toEqual(['after it', `act ${MAX_ACTS}`]);
  });
});

describe.each(EACH_REDIS)('the acts in %s', (_name, cluster) => {
  const at = realRedis({ cluster });
  beforeEach(async () => {
    await at.inspect.flushall();
  });
  contract(() => openFleet(at.client).acts);

  it('are of one prefix, in one key that never expires', async () => {
    await openFleet(at.client, { prefix: 'shop.' }).acts.add(['a']);
    expect(await at.inspect.keys('*')).toEqual(['{shop.:}::acts']);
    expect(await at.inspect.pttl('{shop.:}::acts')).toBe(-1);
    expect(await textsOf(openFleet(at.client).acts)).toEqual([]);
  });

  it('keep their order where the time of the server goes back', async () => {
    const { acts } = openFleet(at.client);
    await acts.add(['a']);
    const inAnHour = (systemClock.wall() + 3_600_000) * 1_000;
    await at.inspect.zadd('{:}::acts', inAnHour, 'of a server that was ahead');
    await acts.add(['b']);
    expect(await textsOf(acts)).toEqual(['b', 'of a server that was ahead', 'a']);
  });
});
