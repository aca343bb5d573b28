import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from 'test-servers';
import { cliSuite } from './cluster-suite.js';

const suite = cliSuite();
const MINUTE = 60_000;
let leave: () => Promise<void>;

/** A process with this series, which ran last ten minutes ago, and has no job. */
beforeEach(async () => {
  const { fleet, inspector, process: own } = suite.system;
  const record = { ...own.describe(), id: 'other', host: 'web-9', pid: 9 };
  const load = { tube: 'report', plan: '*/5 * * * * UTC', concurrency: 1, running: 0, held: 0, long: [] };
  const member = {
    id: 'other',
    settings: own.settings,
    describe: () => ({ ...record, tubes: [load] }),
    yields: () => false,
    learn: () => undefined,
  };
  leave = fleet.presence.join(member);
  await eventually('it is there', async () => (await inspector.series()).length === 1);
});

afterEach(() => leave());

/** Its last run ended this long ago. */
async function ranAgo(minutes: number): Promise<void> {
  const { seriesRuns } = suite.system.fleet;
  const endedAt = Math.floor(seriesRuns.now()) - minutes * MINUTE;
  const run = { tube: 'report', plan: '*/5 * * * * UTC', outcome: 'dead', dueAt: endedAt - 31, endedAt };
  const text = JSON.stringify({ ...run, attempt: 3, took: 31, process: 'web-9:9', error: 'Error: no table' });
  await seriesRuns.put([{ tube: 'report', endedAt, text }]);
}

describe('nest-dq series', () => {
  it('lists those made at run time, page by page, skips their next run, and removes them', async () => {
    const { series, inspector } = suite.system;
    for (const name of ['acme:a', 'acme:b', 'other'])
      await series.upsert(name, { tube: 'sent', every: '1h' });
    const list = await suite.nestDq(['series', '--name', 'acme:', '--limit', '1']);
    expect(list.stdout).toMatch(/^acme:a +waiting +in (59m \d+s|1h) +NONE +every 1h$/m);
    const [, cursor] = /^1 of 3 made at run time; next page: --cursor (\S+)$/m.exec(list.stdout)!;
    const next = await suite.nestDq(['series', '--name', 'acme:', '--cursor', cursor!, '--json']);
    const page = { series: [{ name: 'acme:b', tube: 'sent', key: 'series:acme:b' }], total: 3 };
    expect(JSON.parse(next.stdout)).toMatchObject(page);
    expect(JSON.parse(next.stdout)).not.toHaveProperty('cursor');
    const skip = await suite.nestDq(['series', 'skip', 'other']);
    expect([skip.code, skip.stdout]).toEqual([0, expect.stringMatching(/^other: skipped .*; runs next at /)]);
    expect((await suite.nestDq(['series', 'remove', 'other'])).stdout).toBe('other: removed\n');
    const again = await suite.nestDq(['series', 'remove', 'other']);
    expect([again.code, again.stdout]).toEqual([1, 'other: unknown series\n']);
    const { acts } = await inspector.acts({ limit: 3 });
    expect(acts.map(({ act, on, count }) => [act, on.key, count])).toEqual([
      ['removeSeries', 'series:other', 0],
      ['removeSeries', 'series:other', 1],
      ['skipSeries', 'series:other', 1],
    ]);
    for (const name of ['acme:a', 'acme:b']) await series.remove(name);
  });

  it('lists what is missed, and exits with 1 then; the doctor warns of it', async () => {
    await ranAgo(20);
    const { code, stdout } = await suite.nestDq(['series']);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^report +dead +20m( \d+s)? ago +31ms +1 +\*\/5 \* \* \* \* UTC$/m);
    expect(stdout).toMatch(/^report should have run 1\dm( \d+s)? ago$/m);
    expect(stdout).toContain('report failed in web-9:9: Error: no table');
    const { stdout: said } = await suite.nestDq(['doctor', '--json']);
    const { checks } = JSON.parse(said) as { checks: { level: string; about: string; fact: string }[] };
    expect(checks).toContainEqual({
      level: 'warning',
      about: 'report',
      fact: expect.stringMatching(/^should have run at .*, but has no job$/),
      advice: expect.stringContaining('log'),
    });
  });

  it('exits with 0 if all are on time, as the doctor says, too', async () => {
    await suite.system.producer.delay('report', undefined, '1h', { key: 'recurring' });
    const { code, stdout } = await suite.nestDq(['series', '--json']);
    expect(code).toBe(0);
    const {
      series: [series, ...others],
    } = JSON.parse(stdout) as { series: object[] };
    expect(others).toEqual([]);
    expect(series).toMatchObject({
      tube: 'report',
      state: 'waiting',
      processes: 1,
      last: { outcome: 'dead' },
    });
    expect(series).not.toHaveProperty('missedSince');
    expect((await suite.nestDq(['doctor'])).stdout).toMatch(/^ok +series +1 series, all on time$/m);
  });
});
