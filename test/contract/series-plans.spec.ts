// The plans of series made at run time: over Redis, a Redis Cluster, in one process, and in a folder.
import { beforeEach, describe, expect, it } from '@jest/globals';
import { restartsOnDisk } from 'nest-dq/spec-support/restarts-on-disk.js';
import { LocalSeriesPlans } from 'nest-dq/src/fleet/local-series-plans.js';
import { CHECK_AGAIN_MS, type SeriesPlans } from 'nest-dq/src/fleet/series-plans.js';
import { systemClock } from 'nest-handlers/time';
import { EACH_REDIS, openFleet, realRedis } from './real-redis.js';

const DAY = 86_400_000;
const PLAN = { spec: '{"tube":"t","every":1000}', payload: '"Größe \\u0000"' };
const OTHER = { spec: '{"tube":"t","every":2000}', payload: '' };

/** @param plansOfProcess creates the plans of another process on each call. */
function contract(plansOfProcess: () => SeriesPlans): void {
  let one: SeriesPlans;
  let two: SeriesPlans;
  beforeEach(() => {
    [one, two] = [plansOfProcess(), plansOfProcess()];
  });
  const names = async (query = {}) =>
    (await two.page({ limit: 10, ...query })).series.map(({ name }) => name);
  const onTime = (next: number | undefined) => ({ next, missedSince: undefined });
  const now = () => Math.floor(one.now());

  it('stores a plan with the time at which it began', async () => {
    const { status, entry, before } = await one.upsert('a', PLAN);
    expect([status, before]).toEqual(['created', undefined]);
    const [, begunAt] = /^(\d{13}) /.exec(entry)!;
    expect(Math.abs(Number(begunAt) - systemClock.wall())).toBeLessThan(60_000);
    expect(entry).toBe(`${begunAt} ${PLAN.spec}\n${PLAN.payload}`);
    expect(await two.get('a')).toEqual({ name: 'a', entry });
    expect(await two.get('b')).toBeUndefined();
  });

  it('begins a plan at its start if that is later', async () => {
    const startAt = now() + DAY;
    expect((await one.upsert('a', PLAN, startAt)).entry).toMatch(new RegExp(`^${startAt} `));
    expect((await one.upsert('b', PLAN, 5)).entry).not.toMatch(/^5 /);
  });

  it('takes the same plan for no change, and another plan or payload for one', async () => {
    const { entry } = await one.upsert('a', PLAN);
    expect(await two.upsert('a', PLAN)).toEqual({ status: 'unchanged', entry });
    const changed = await two.upsert('a', { ...PLAN, payload: '1' });
    expect(changed).toMatchObject({ status: 'changed', before: entry });
    expect(await one.upsert('a', OTHER)).toMatchObject({ status: 'changed', before: changed.entry });
  });

  it('ends concurrent changes in one of them', async () => {
    const specs = Array.from({ length: 20 }, (_, i) => ({ spec: `{"tube":"t${i}"}`, payload: '' }));
    const answers = await Promise.all(specs.map((spec, i) => (i % 2 ? one : two).upsert('a', spec)));
    expect(answers.filter(({ status }) => status === 'created')).toHaveLength(1);
    expect(answers.map(({ entry }) => entry)).toContain((await one.get('a'))!.entry);
  });

  it('lists series by name, page by page', async () => {
    for (const name of ['b', 'a', 'shop:2', 'shop:1', 'c', 'shop:', 'shoq']) await one.upsert(name, PLAN);
    expect(await names()).toEqual(['a', 'b', 'c', 'shop:', 'shop:1', 'shop:2', 'shoq']);
    expect(await names({ limit: 2, after: 'a' })).toEqual(['b', 'c']);
    expect(await names({ prefix: 'shop:' })).toEqual(['shop:', 'shop:1', 'shop:2']);
    expect(await names({ prefix: 'shop:', after: 'shop:1' })).toEqual(['shop:2']);
    expect(await names({ after: 'z' })).toEqual([]);
    expect((await one.page({ limit: 1 })).total).toBe(7);
  });

  it('keeps a removed series, unlisted, until it is forgotten', async () => {
    const { entry } = await one.upsert('a', PLAN);
    expect(await two.remove('a')).toBe(entry);
    expect(await one.remove('a')).toBeUndefined();
    expect(await names()).toEqual([]);
    expect((await one.get('a'))!.entry).toBe(`removed ${PLAN.spec}\n${PLAN.payload}`);
    expect(await one.forget('a')).toBe(true);
    expect(await one.get('a')).toBeUndefined();
    expect(await one.forget('a')).toBe(true);
    expect(await one.remove('a')).toBeUndefined();
  });

  it('creates a removed series again, which is then not forgotten', async () => {
    await one.upsert('a', PLAN);
    await one.remove('a');
    expect(await two.upsert('a', PLAN)).toMatchObject({ status: 'created', before: expect.any(String) });
    expect(await one.forget('a')).toBe(false);
    expect(await names()).toEqual(['a']);
  });

  it('restores a series only if it has lost it', async () => {
    await one.restore('a', `5 ${PLAN.spec}\n`);
    expect(await one.get('a')).toEqual({ name: 'a', entry: `5 ${PLAN.spec}\n` });
    await one.restore('a', `6 ${OTHER.spec}\n`);
    expect((await one.get('a'))!.entry).toMatch(/^5 /);
    expect(await names()).toEqual(['a']);
  });

  it('gives a due check to one process, and puts it off', async () => {
    for (const name of ['a', 'b', 'c', 'd']) {
      const { entry } = await one.upsert(name, PLAN);
      const next = name === 'd' ? now() + DAY : now() - 1_000;
      expect(await one.checked(name, entry, onTime(next))).toBeUndefined();
    }
    const taken = await Promise.all([one.take(2), two.take(2), one.take(2)]);
    expect(
      taken
        .flat()
        .map(({ name }) => name)
        .sort(),
    ).toEqual(['a', 'b', 'c']);
    expect(await one.take(10)).toEqual([]);
  });

  it('does not give a new series to others at once: who made it has some time to add its job', async () => {
    await one.upsert('a', PLAN);
    expect(await two.take(10)).toEqual([]);
  });

  it('notes a check only if the plan is still the same', async () => {
    const { entry } = await one.upsert('a', PLAN);
    const { entry: other } = await two.upsert('a', OTHER);
    expect(await one.checked('a', entry, onTime(now() - 1))).toBe(other);
    expect(await one.take(10)).toEqual([]);
    expect(await one.checked('gone', entry, onTime(1))).toBe('');
    expect(await one.checked('a', other, onTime(undefined))).toBeUndefined();
    expect(await one.take(10)).toEqual([]);
  });

  it('has those that were missed, the longest overdue first, until they are on time', async () => {
    const entries = new Map<string, string>();
    for (const [name, missedSince] of [
      ['a', 3],
      ['b', 1],
      ['c', 2],
    ] as const) {
      const { entry } = await one.upsert(name, PLAN);
      entries.set(name, entry);
      await one.checked(name, entry, { next: now() + DAY, missedSince });
    }
    const missed = async (limit = 10) => (await two.missed(limit)).map(({ name }) => name);
    expect(await missed()).toEqual(['b', 'c', 'a']);
    expect(await missed(2)).toEqual(['b', 'c']);
    await one.checked('b', entries.get('b')!, onTime(now() + DAY));
    await one.remove('c');
    expect(await missed()).toEqual(['a']);
  });

  it('remembers the last run of a series, and none of one that was removed', async () => {
    await one.upsert('a', PLAN);
    await one.ran([
      { name: 'a', text: '{"n":1}' },
      { name: 'gone', text: '{}' },
    ]);
    await two.ran([{ name: 'a', text: '{"n":2}' }]);
    expect((await one.get('a'))!.run).toBe('{"n":2}');
    expect((await one.page({ limit: 9 })).series[0]!.run).toBe('{"n":2}');
    await one.upsert('a', OTHER);
    expect((await one.get('a'))!.run).toBe('{"n":2}');
    await one.remove('a');
    await one.ran([{ name: 'a', text: '{}' }]);
    await one.upsert('a', PLAN);
    expect(await one.get('a')).not.toHaveProperty('run');
  });
}

describe('the plans of series in one process', () => {
  let plans: LocalSeriesPlans;
  beforeEach(() => {
    plans = new LocalSeriesPlans(() => systemClock.wall());
  });
  contract(() => plans);
});

describe('the plans of series in a folder', () => {
  let plans: LocalSeriesPlans;
  let time = 0;
  const folder = restartsOnDisk(async (disk) => {
    plans = new LocalSeriesPlans(() => systemClock.wall() + time, disk);
    await plans.load();
    return () => undefined;
  });
  beforeEach(() => {
    time = 0;
  });
  contract(() => plans);

  it('are there after a restart, with their runs and checks, and none that was forgotten', async () => {
    const { entry } = await plans.upsert('a b', PLAN);
    await plans.upsert('gone', PLAN);
    await plans.remove('gone');
    await plans.forget('gone');
    await plans.ran([{ name: 'a b', text: '{}' }]);
    await folder.restart();
    expect((await plans.page({ limit: 9 })).series).toEqual([{ name: 'a b', entry, run: '{}' }]);
    expect(await plans.take(9)).toEqual([]);
    time = CHECK_AGAIN_MS;
    expect(await plans.take(9)).toEqual([{ name: 'a b', entry, run: '{}' }]);
  });
});

describe.each(EACH_REDIS)('the plans of series in %s', (_name, cluster) => {
  const at = realRedis({ cluster });
  beforeEach(async () => {
    await at.inspect.flushall();
  });
  contract(() => openFleet(at.client).seriesPlans);

  it('are of one prefix, in keys that do not expire', async () => {
    const plans = openFleet(at.client, { prefix: 'shop.' }).seriesPlans;
    const { entry } = await plans.upsert('a', PLAN);
    await plans.checked('a', entry, { next: 5, missedSince: 5 });
    await plans.ran([{ name: 'a', text: '{}' }]);
    const keys = ['plan-checks', 'plan-names', 'plan-runs', 'plans', 'plans-missed'];
    expect((await at.inspect.keys('*')).sort()).toEqual(keys.map((key) => `{shop.:}::${key}`));
    for (const key of keys) expect(await at.inspect.pttl(`{shop.:}::${key}`)).toBe(-1);
    expect((await openFleet(at.client).seriesPlans.page({ limit: 1 })).total).toBe(0);
  });

  it('costs Redis as little with many series as with few', async () => {
    const plans = openFleet(at.client).seriesPlans;
    const fill = at.inspect.pipeline();
    for (let i = 0; i < 20_000; i += 100) {
      const many = Array.from({ length: 100 }, (_, n) => `t${i + n}`);
      fill.hset('{:}::plans', Object.fromEntries(many.map((name) => [name, `5 ${PLAN.spec}\n`])));
      fill.zadd('{:}::plan-names', ...many.flatMap((name) => [0, name]));
      fill.zadd('{:}::plan-checks', ...many.flatMap((name) => [1e13, name]));
      fill.zadd('{:}::plans-missed', ...many.flatMap((name) => [1, name]));
    }
    await fill.exec();
    await at.inspect.config('RESETSTAT');
    expect(await plans.take(200)).toEqual([]);
    expect((await plans.page({ limit: 100, prefix: 't1' })).series).toHaveLength(100);
    expect(await plans.missed(100)).toHaveLength(100);
    await plans.upsert('one more', PLAN);
    await plans.remove('t5');
    const stats = await at.inspect.info('commandstats');
    const used = new Map(
      [...stats.matchAll(/^cmdstat_(\w+):calls=(\d+)/gm)].map(([, name, calls]) => [name!, Number(calls)]),
    );
    // Each of these looks at no more than it returns, and there are few of them.
    const cheap = ['zrevrange', 'zcount', 'zadd', 'zrem', 'hget', 'hset', 'hmget', 'hdel'];
    expect(cheap.reduce((sum, name) => sum + (used.get(name) ?? 0), 0)).toBeLessThan(100);
    const ofAll = [
      'hgetall',
      'hkeys',
      'hvals',
      'hscan',
      'zscan',
      'zrange',
      'zrangebyscore',
      'keys',
      'scan',
      'sort',
    ];
    expect(ofAll.filter((name) => used.has(name))).toEqual([]);
  });
});
