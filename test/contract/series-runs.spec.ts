// The last runs of series: over Redis, a Redis Cluster, in one process, and in a folder.
import { beforeEach, describe, expect, it } from '@jest/globals';
import { restartsOnDisk } from 'nest-dq/spec-support/restarts-on-disk.js';
import { LocalSeriesRuns } from 'nest-dq/src/fleet/local-series-runs.js';
import { KEPT_MS, MAX_SERIES, type SeriesRuns, type StoredSeriesRun } from 'nest-dq/src/fleet/series-runs.js';
import { systemClock } from 'nest-handlers/time';
import { EACH_REDIS, openFleet, realRedis } from './real-redis.js';

const DAY = 86_400_000;

/** A run that ended this long ago, in ms. */
function run(tube: string, ago: number, of = tube): StoredSeriesRun {
  const endedAt = Math.floor(systemClock.wall()) - ago;
  return { tube, endedAt, text: JSON.stringify({ tube: of, endedAt }) };
}

const namesIn = async (runs: SeriesRuns) =>
  (await runs.read()).map((text) => (JSON.parse(text) as { tube: string }).tube).sort();

/** @param runsOfProcess creates the runs of another process on each call. */
function contract(runsOfProcess: () => SeriesRuns): void {
  it('has the last run of each series, by any process', async () => {
    const [one, two] = [runsOfProcess(), runsOfProcess()];
    expect(await one.read()).toEqual([]);
    const strange = run('Größe „c“', 5_000, 'Größe „c“ \u0000');
    await one.put([run('a', 9_000, 'first'), strange]);
    await two.put([run('a', 4_000, 'second'), run('b', 1_000)]);
    expect(await one.read()).toContainEqual(strange.text);
    expect(await namesIn(one)).toEqual(['Größe „c“ \u0000', 'b', 'second'].sort());
  });

  it('keeps a later run if an earlier one is stored late, and takes another one of the same instant', async () => {
    const runs = runsOfProcess();
    const late = run('a', 1_000, 'late');
    await runs.put([late]);
    await runs.put([run('a', 60_000, 'early')]);
    expect(await namesIn(runs)).toEqual(['late']);
    await runs.put([{ ...late, text: JSON.stringify({ tube: 'same instant', endedAt: late.endedAt }) }]);
    expect(await namesIn(runs)).toEqual(['same instant']);
  });

  it('forgets a run after ten years', async () => {
    const runs = runsOfProcess();
    await runs.put([run('old', KEPT_MS + 1_000), run('leap', KEPT_MS - 60_000)]);
    expect(await namesIn(runs)).toEqual(['leap']);
  });

  it('forgets those that ran first where there are too many', async () => {
    const runs = runsOfProcess();
    for (let i = 0; i < MAX_SERIES; i += 100)
      await runs.put(Array.from({ length: 100 }, (_, n) => run(`t${i + n}`, DAY - i - n)));
    await runs.put([run('a', 1_000), run('b', 1_000)]);
    const names = await namesIn(runs);
    expect(names).toHaveLength(MAX_SERIES);
    expect(names).toEqual(expect.arrayContaining(['a', 'b', 't2', `t${MAX_SERIES - 1}`]));
    expect(names).not.toContain('t1');
  }, 30_000);

  it('has the time of the ledger', () => {
    expect(Math.abs(runsOfProcess().now() - systemClock.wall())).toBeLessThan(60_000);
  });
}

describe('the last runs of series in one process', () => {
  let runs: LocalSeriesRuns;
  beforeEach(() => {
    runs = new LocalSeriesRuns(() => systemClock.wall());
  });
  contract(() => runs);
});

describe('the last runs of series in a folder', () => {
  let runs: LocalSeriesRuns;
  const folder = restartsOnDisk(async (disk) => {
    runs = new LocalSeriesRuns(() => systemClock.wall(), disk);
    await runs.load();
    return () => undefined;
  });
  contract(() => runs);

  it('are there after a restart, and none that was forgotten', async () => {
    await runs.put([run('a', 9_000, 'first'), run('gone', KEPT_MS + 1_000), run('b', 5_000)]);
    await runs.put([run('a', 1_000, 'second')]);
    await folder.restart();
    expect(await namesIn(runs)).toEqual(['b', 'second']);
    await runs.put([run('a', 5_000, 'first again')]);
    expect(await namesIn(runs)).toEqual(['b', 'second']);
  });
});

describe.each(EACH_REDIS)('the last runs of series in %s', (_name, cluster) => {
  const at = realRedis({ cluster });
  beforeEach(async () => {
    await at.inspect.flushall();
  });
  contract(() => openFleet(at.client).seriesRuns);

  it('are of one prefix, in two keys that expire after ten years', async () => {
    await openFleet(at.client, { prefix: 'shop.' }).seriesRuns.put([run('a', 0)]);
    const keys = ['{shop.:}::series', '{shop.:}::series-runs'];
    expect((await at.inspect.keys('*')).sort()).toEqual(keys);
    for (const key of keys) expect(await at.inspect.pttl(key)).toBeGreaterThan(9 * 365 * DAY);
    expect(await openFleet(at.client).seriesRuns.read()).toEqual([]);
  });

  it('replace what another program wrote', async () => {
    const { seriesRuns } = openFleet(at.client);
    await at.inspect.hset('{:}::series-runs', { a: 'x', b: '[1]' });
    await at.inspect.zadd('{:}::series', systemClock.wall() + DAY, 'lost');
    await seriesRuns.put(['a', 'b'].map((tube) => run(tube, 0)));
    expect(await namesIn(seriesRuns)).toEqual(['a', 'b']);
  });
});
