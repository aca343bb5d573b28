// Series made at run time, by the kit's clock.
import { expect, it } from '@jest/globals';
import { Discard, DqProducer, DqSeries, defineTube, type SeriesPlan } from 'nest-dq';
import { DqInspector } from 'nest-dq/operate';
import { z } from 'zod';
import { kitAt, passMinutes } from './recurring-app.js';
import { startSeriesApp, TUBE, warnings } from './series-app.js';

const NOON = '2027-01-01T12:00:00Z';

async function appAt(now = NOON, ...given: [Parameters<typeof startSeriesApp>[1]?]) {
  const kit = kitAt(now);
  const { app, runs } = await startSeriesApp(kit, ...given);
  const due = () => kit.scheduled(TUBE).map(({ dueAt }) => dueAt.toISOString().slice(5, 16));
  return { kit, app, runs, due, series: app.get(DqSeries), dq: app.get(DqProducer) };
}

it('runs a series by a cron expression in its time zone', async () => {
  const { kit, series, runs } = await appAt();
  const plan = { tube: TUBE, cron: '0 3 * * *', timeZone: 'Europe/Berlin', payload: { tenant: 'acme' } };
  expect(await series.upsert('acme', plan)).toEqual({ status: 'created' });
  await kit.advance('2d');
  expect(runs).toEqual(['01-02T02:00 {"tenant":"acme"}', '01-03T02:00 {"tenant":"acme"}']);
  expect(warnings).toEqual([]);
});

it.each<[string, Omit<SeriesPlan, 'tube'>, string[]]>([
  ['from the upsert on', { every: '6h' }, ['01-01T18:00', '01-02T00:00', '01-02T06:00']],
  ['and at once', { every: '8h', runAtStart: true }, ['01-01T12:00', '01-01T20:00', '01-02T04:00']],
  [
    'from a start',
    { every: '8h', startAt: new Date('2027-01-01T13:00:00Z') },
    ['01-01T13:00', '01-01T21:00', '01-02T05:00'],
  ],
  [
    'in the grid of a start that has passed',
    { every: '8h', startAt: new Date('2026-01-01T01:00:00Z') },
    ['01-01T17:00', '01-02T01:00', '01-02T09:00'],
  ],
  ['until an end', { every: '6h', endAt: new Date('2027-01-02T00:00:00Z') }, ['01-01T18:00', '01-02T00:00']],
  ['a number of times', { every: '2h', times: 2 }, ['01-01T14:00', '01-01T16:00']],
  [
    'a number of times with the first at once',
    { cron: '0 * * * *', times: 2, runAtStart: true },
    ['01-01T12:00', '01-01T13:00'],
  ],
  ['by cron from a start', { cron: '0 3 * * *', startAt: new Date('2027-01-02T03:00:00Z') }, ['01-02T03:00']],
  ['never, as all of it has passed', { every: '6h', endAt: new Date('2026-01-02T00:00:00Z') }, []],
])('runs a series %s', async (_how, plan, expected) => {
  const { kit, series, runs } = await appAt();
  await series.upsert('a', { tube: TUBE, ...plan });
  await kit.advance('22h');
  expect(runs).toEqual(expected);
});

it('spreads series with equal plans, each by a time of its own', async () => {
  const { series, due } = await appAt();
  const names = Array.from({ length: 20 }, (_, i) => `tenant-${i}`);
  for (const name of names) await series.upsert(name, { tube: TUBE, cron: '0 13 * * *', jitter: '1h' });
  const minutes = due().map((at) => Date.parse(`2027-${at}:00Z`) - Date.parse('2027-01-01T13:00:00Z'));
  expect(Math.min(...minutes)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...minutes)).toBeLessThanOrEqual(3_600_000);
  expect(new Set(minutes).size).toBeGreaterThan(10);
});

it('does nothing if the plan is the same, and moves the waiting occurrence if it is not', async () => {
  const { kit, series, due, runs } = await appAt();
  const plan = { tube: TUBE, every: '6h', payload: { n: 1 } } as const;
  await series.upsert('a', plan);
  await kit.advance('1h');
  expect(await series.upsert('a', { ...plan })).toEqual({ status: 'unchanged' });
  expect(due()).toEqual(['01-01T18:00']);
  expect(await series.upsert('a', { ...plan, every: '1h', payload: { n: 2 } })).toEqual({
    status: 'changed',
  });
  expect(due()).toEqual(['01-01T14:00']);
  await kit.advance('2h');
  expect(runs).toEqual(['01-01T14:00 {"n":2}', '01-01T15:00 {"n":2}']);
  await series.upsert('a', { tube: TUBE, every: '1h' });
  await kit.advance('1h');
  expect(runs.at(-1)).toBe('01-01T16:00');
});

it('moves a series to another tube', async () => {
  const { kit, series, due, runs } = await appAt();
  await series.upsert('a', { tube: 'other', every: '1h' });
  await series.upsert('a', { tube: TUBE, every: '1h' });
  expect(kit.scheduled('other')).toEqual([]);
  expect(due()).toEqual(['01-01T13:00']);
  await kit.advance('1h');
  expect(runs).toHaveLength(1);
});

it('ends concurrent upserts in one plan, with one occurrence', async () => {
  const { kit, app, due } = await appAt();
  const { app: other } = await startSeriesApp(kit);
  const upserts = [1, 2, 3, 4, 5, 6].map((hours) =>
    (hours % 2 ? app : other).get(DqSeries).upsert('a', { tube: TUBE, every: `${hours}h` }),
  );
  await Promise.all(upserts);
  const { plan } = (await app.get(DqSeries).find('a'))!;
  const [, hours] = /^every (\d)h$/.exec(plan)!;
  expect(due()).toEqual([`01-01T${12 + Number(hours)}:00`]);
});

it('removes a series with its occurrence, and begins it again afterwards', async () => {
  const { kit, series, due, runs } = await appAt();
  const plan = { tube: TUBE, cron: '0 3 * * *' };
  await series.upsert('a', plan);
  expect(await series.remove('a')).toBe(true);
  expect(await series.remove('a')).toBe(false);
  expect(await series.find('a')).toBeUndefined();
  await kit.advance('2d');
  expect(runs).toEqual([]);
  await series.upsert('a', plan);
  await series.remove('a');
  await series.upsert('a', plan);
  expect(due()).toEqual(['01-04T03:00']);
});

it('skips the next occurrence, and triggers it', async () => {
  const { kit, series, due, runs } = await appAt();
  expect(await series.skipNext('a')).toBeUndefined();
  expect(await series.trigger('a')).toBe('unknown');
  await series.upsert('a', { tube: TUBE, every: '1h', times: 3 });
  expect(await series.skipNext('a')).toEqual({
    skipped: new Date('2027-01-01T13:00:00Z'),
    next: new Date('2027-01-01T14:00:00Z'),
  });
  expect(await series.trigger('a')).toBe('rescheduled');
  await kit.drain();
  expect(runs).toEqual(['01-01T12:00']);
  expect(due()).toEqual(['01-01T13:00']);
  await series.skipNext('a');
  await series.skipNext('a');
  expect(await series.skipNext('a')).toEqual({ skipped: new Date('2027-01-01T15:00:00Z') });
  await kit.advance('1d');
  expect(runs).toHaveLength(1);
  expect(await series.find('a')).toMatchObject({ state: 'revoked', later: [] });
});

it('shows what it knows of a series, and lists many page by page', async () => {
  const { kit, series } = await appAt();
  for (const name of ['b', 'a', 'c']) await series.upsert(name, { tube: TUBE, every: '1h', payload: name });
  await kit.advance('1h');
  expect(await series.find('a')).toEqual({
    name: 'a',
    tube: TUBE,
    key: 'series:a',
    plan: 'every 1h',
    state: 'waiting',
    next: new Date('2027-01-01T14:00:00Z'),
    later: [15, 16, 17, 18].map((hour) => new Date(`2027-01-01T${hour}:00:00Z`)),
    processes: 1,
    begunAt: new Date(NOON),
    payload: 'a',
    last: {
      outcome: 'completed',
      dueAt: new Date('2027-01-01T13:00:00Z'),
      endedAt: new Date('2027-01-01T13:00:00Z'),
      attempt: 1,
      took: 0,
      process: expect.any(String),
    },
  });
  const first = await series.list({ limit: 2 });
  expect([first.series.map(({ name }) => name), first.total]).toEqual([['a', 'b'], 3]);
  const rest = await series.list({ limit: 2, cursor: first.cursor! });
  expect([rest.series.map(({ name }) => name), rest.cursor]).toEqual([['c'], undefined]);
});

it('continues after a dead letter, and after a run that was revoked', async () => {
  const { kit, series, runs, dq } = await appAt(NOON, (job) =>
    job.dueAt.getUTCHours() === 13 ? Discard.because('no') : undefined,
  );
  await series.upsert('a', { tube: TUBE, every: '1h' });
  await kit.advance('2h');
  expect(runs).toEqual(['01-01T13:00', '01-01T14:00']);
  expect((await series.find('a'))!.last).toMatchObject({ outcome: 'completed' });
  await dq.revoke({ tube: TUBE, key: 'series:a' });
  await passMinutes(kit, 125);
  expect(runs.at(-1)).toBe('01-01T16:00'); // by the check of the revoked one, which is skipped
});

it('reports a missed occurrence, and runs it late', async () => {
  const kit = kitAt(NOON);
  const { app, runs } = await startSeriesApp(kit);
  await app.get(DqSeries).upsert('a', { tube: TUBE, every: '1h' });
  await app.get(DqSeries).upsert('idle', { tube: 'nobody', every: '1h' });
  await kit.advance('61m');
  await passMinutes(kit, 3);
  const missed = (await app.get(DqInspector).series()).map(({ name, missedSince }) => [name, missedSince]);
  expect(missed).toEqual([['idle', new Date('2027-01-01T13:00:00Z')]]);
  expect(runs).toEqual(['01-01T13:00']);
});

it('lets several processes run each occurrence once', async () => {
  const kit = kitAt(NOON);
  const apps = [await startSeriesApp(kit), await startSeriesApp(kit), await startSeriesApp(kit)];
  await Promise.all(apps.map(({ app }) => app.get(DqSeries).upsert('a', { tube: TUBE, every: '1h' })));
  await kit.advance('5h');
  expect(apps.flatMap(({ runs }) => runs).sort()).toEqual(
    [13, 14, 15, 16, 17].map((hour) => `01-01T${hour}:00`),
  );
});

const Checked = defineTube('checked', { schema: z.object({ tenant: z.string() }) });

it.each<[string, unknown, unknown, RegExp]>([
  [
    'an empty name',
    '',
    { tube: TUBE, every: '1h' },
    /DQ_BAD_OPTION: the name of the series is "": expected a string of 1 to 200/,
  ],
  ['no plan', 'a', undefined, /DQ_BAD_OPTION: the plan of the series is undefined: expected \{ tube/],
  ['neither cron nor every', 'a', { tube: TUBE }, /DQ_BAD_OPTION: the plan has neither `cron` nor `every`/],
  ['both', 'a', { tube: TUBE, every: '1h', cron: '* * * * *' }, /has both `cron` and `every`/],
  ['an unknown option', 'a', { tube: TUBE, every: '1h', tz: 'UTC' }, /DQ_BAD_OPTION: unknown .*tz/],
  ['a bad tube', 'a', { tube: 'a b', every: '1h' }, /DQ_BAD_TUBE/],
  ['a bad interval', 'a', { tube: TUBE, every: 'soon' }, /DQ_BAD_DURATION: `every` is "soon"/],
  [
    'a short interval',
    'a',
    { tube: TUBE, every: 500 },
    /DQ_BAD_OPTION: `every` is 500: expected at least '1s'/,
  ],
  [
    'a bad expression',
    'a',
    { tube: TUBE, cron: '61 * * * *' },
    /DQ_BAD_OPTION: the cron expression is "61 \* \* \* \*", which/,
  ],
  [
    'a bad zone',
    'a',
    { tube: TUBE, cron: '* * * * *', timeZone: 'Mars' },
    /DQ_BAD_OPTION: `timeZone` is "Mars"/,
  ],
  [
    'a zone without cron',
    'a',
    { tube: TUBE, every: '1h', timeZone: 'UTC' },
    /`timeZone` is "UTC": expected `cron` as well/,
  ],
  [
    'much jitter',
    'a',
    { tube: TUBE, every: '1h', jitter: '2h' },
    /`jitter` is "2h": expected at most `every`, which is "1h"/,
  ],
  [
    'an early end',
    'a',
    { tube: TUBE, every: '1h', startAt: new Date(2e12), endAt: new Date(1.9e12) },
    /`endAt` is 2030-.*: expected no earlier than `startAt`/,
  ],
  ['a bad time', 'a', { tube: TUBE, every: '1h', startAt: 'soon' }, /DQ_BAD_TIME: the time is "soon"/],
  ['no times', 'a', { tube: TUBE, every: '1h', times: 0 }, /`times` is 0: expected a positive integer/],
  ['many times', 'a', { tube: TUBE, every: '1h', times: 1_001 }, /`times` is 1001: expected 1 to 1,?000/],
  [
    'a wrong flag',
    'a',
    { tube: TUBE, every: '1h', runAtStart: 1 },
    /`runAtStart` is 1: expected true or false/,
  ],
  [
    'bytes',
    'a',
    { tube: TUBE, every: '1h', payload: Buffer.from('x') },
    /DQ_BAD_PAYLOAD: the payload of a series is bytes/,
  ],
  [
    'a large payload',
    'a',
    { tube: TUBE, every: '1h', payload: 'x'.repeat(17_000) },
    /DQ_BAD_PAYLOAD: .* 17002 characters/,
  ],
  [
    'a payload that its schema rejects',
    'a',
    { tube: Checked, every: '1h', payload: { tenant: 5 } },
    /DQ_BAD_PAYLOAD: .*tenant/,
  ],
])('refuses %s, and stores nothing', async (_what, name, plan, message) => {
  const { series } = await appAt();
  await expect(series.upsert(name as string, plan as SeriesPlan)).rejects.toThrow(message);
  expect((await series.list()).total).toBe(0);
});

it('refuses a tube whose jobs are sealed, as a plan in Redis is not', async () => {
  const kit = kitAt(NOON);
  const seal = { keys: { k: 'a'.repeat(64) }, current: 'k', unsealed: ['open'] };
  const { app } = await startSeriesApp(kit, undefined, { seal } as never);
  const upsert = (tube: string) => app.get(DqSeries).upsert('a', { tube, every: '1h' });
  await expect(upsert(TUBE)).rejects.toThrow(
    /DQ_BAD_OPTION: the tube of the series is "reminder.send", and its jobs are sealed/,
  );
  expect(await upsert('open')).toEqual({ status: 'created' });
});
