import { describe, expect, it } from '@jest/globals';
import { joined } from '../../spec-support/other-process.js';
import { embedded } from '../../spec-support/producing.js';
import { LATENESS_CLASSES } from '../events/lateness-classes.js';
import { FIRST_CLASS, PLACES } from '../events/tally.js';
import type { TubeLimits } from '../api/limit-options.js';
import type { StoredTube } from '../api/tube.js';
import { DueCounts, partsOf, type ForecastSpread } from './forecast.js';
import type { TimelineOptions } from './waiting-view.js';

const MINUTE = 60_000;
/** A class of lateness above 10 s. */
const LATE = LATENESS_CLASSES.indexOf(60_000);

/** A tube that a process consumes, with a number of jobs due at each of these minutes. */
async function withDue(due: Readonly<Record<number, number>>, limits?: TubeLimits) {
  const world = await embedded();
  const { clock } = world;
  const { producer, inspector, control, history } = world.process({ mostIndexed: 1_000 });
  const left = MINUTE - (clock.wall() % MINUTE);
  const start = clock.wall() + left;
  joined(world, { tube: 't', ...(limits && { limits }) });
  const at = (minute: number) => new Date(start + minute * MINUTE);
  for (const [minute, jobs] of Object.entries(due))
    await producer.addMany(
      't',
      Array.from({ length: jobs }, () => ({ payload: 1, at: at(Number(minute)) })),
    );
  await clock.advance(left); // until they are listed
  return {
    clock,
    control,
    at,
    /** Ten minutes, each a bucket. */
    forecast: (spread?: ForecastSpread, options?: TimelineOptions) =>
      inspector.forecast('t', options ?? { from: at(0), to: at(10), buckets: 10 }, spread),
    minute: (time: Date) => Math.round(((time.getTime() - start) / MINUTE) * 100) / 100,
    /** Minutes of the past with these completions, in which most runs were late. */
    busy: (...completed: readonly number[]) =>
      history.add(
        completed.map((each, i) => {
          const counts = Array.from({ length: FIRST_CLASS + LATENESS_CLASSES.length }, () => 0);
          counts[PLACES.completed] = each;
          counts[FIRST_CLASS + LATE] = each;
          return { minute: start / MINUTE - completed.length + i, tube: 't', counts };
        }),
      ),
  };
}

const RATE = { rate: 10, per: MINUTE, burst: 1 };

describe('forecast', () => {
  it('has the late times of a peak, by the rate limit of the handler', async () => {
    const { forecast, minute } = await withDue({ 3: 30, 8: 5 }, RATE);
    const { capacity, overdue, buckets, late } = await forecast();
    expect([capacity, overdue]).toEqual([{ perMinute: 10, by: 'limit' }, 0]);
    expect(buckets.map(({ jobs }) => jobs)).toEqual([0, 0, 0, 30, 0, 0, 0, 0, 5, 0]);
    const tenths = buckets.map(({ lateBy }) => Math.round((lateBy! / MINUTE) * 10) / 10);
    expect(tenths).toEqual([0, 0, 0, 2.8, 2, 1, 0, 0, 0.3, 0]);
    expect(late.map(({ from, to, upTo }) => [minute(from), minute(to), Math.round(upTo / MINUTE)])).toEqual([
      [3, 5, 3],
    ]);
  });

  it('has the same late times for all buckets, also after the last one', async () => {
    const { forecast, at } = await withDue({ 3: 30, 70: 30 }, RATE);
    const { late } = await forecast();
    expect(late).toEqual([{ from: at(3), to: at(5), upTo: 3 * MINUTE }]);
    expect((await forecast(undefined, { edges: [at(0.5), at(3.5)] })).late).toEqual(late);
    expect((await forecast(undefined, { edges: [at(0), at(80)] })).late).toEqual([
      ...late,
      { from: at(70), to: at(72), upTo: 3 * MINUTE },
    ]);
  });

  it('has the capacity measured in the last two days, if that is lower', async () => {
    const { forecast, busy, at } = await withDue({ 3: 30 }, RATE);
    await busy(9, 5, 6, 9);
    expect(await forecast()).toMatchObject({ capacity: { perMinute: 6, by: 'measured', at: at(-2) } });
  });

  it('tells nothing about lateness without a capacity', async () => {
    const { forecast } = await withDue({ 3: 30 });
    const told = await forecast();
    expect(told).not.toHaveProperty('capacity');
    expect([told.late, told.buckets[3]]).toEqual([[], expect.not.objectContaining({ lateBy: 0 })]);
  });

  it('begins with what is overdue, also for buckets that begin later', async () => {
    const { forecast, clock, at } = await withDue({ 1: 40, 8: 1 }, RATE);
    await clock.advance(2 * MINUTE);
    const { overdue, buckets } = await forecast(undefined, { edges: [at(0), at(1), at(4), at(5), at(9)] });
    expect(overdue).toBe(40);
    const lateBy = buckets.map((each) => each.lateBy && Math.round(each.lateBy / 10_000) * 10_000);
    expect(lateBy).toEqual([undefined, 4 * MINUTE, 2 * MINUTE, MINUTE]);
  });

  it('tells how it would be if some jobs were spread', async () => {
    const { forecast, at } = await withDue({ 3: 30, 5: 5 }, RATE);
    const range = { dueFrom: at(3), dueTo: at(4) };
    const after = await forecast({ ...range, spread: '5m' });
    expect(after.buckets.map(({ jobs }) => jobs)).toEqual([0, 0, 0, 6, 6, 11, 6, 6, 0, 0]);
    expect(after.late).toEqual([]);
    const faster = await forecast({ perMinute: 15 });
    expect(faster.buckets.map(({ jobs }) => jobs)).toEqual([0, 0, 0, 15, 15, 5, 0, 0, 0, 0]);
    expect((await forecast({ dueFrom: at(20), spread: '5m' })).buckets[3]).toMatchObject({ jobs: 30 });
  });

  it('counts a pause with an end, and stops at one without', async () => {
    const { forecast, control, at } = await withDue({ 1: 1 }, RATE);
    await control.pause('t', { until: at(5) });
    const held = await forecast();
    expect(held).toMatchObject({ paused: { until: at(5) } });
    expect(held.buckets[1]!.lateBy).toBeGreaterThanOrEqual(4 * MINUTE);
    await control.pause('t');
    expect(await forecast()).toMatchObject({ stopped: 'paused', late: [] });
  });

  it('stops if no process consumes the tube', async () => {
    const { inspector, producer } = await embedded();
    await producer.delay('t', 1, '1h');
    const told = await inspector.forecast('t', {
      from: new Date(),
      to: new Date(Date.now() + 1),
      buckets: 1,
    });
    expect(told).toMatchObject({ stopped: 'unconsumed' });
  });

  it.each<[object, RegExp]>([
    [{}, /^DQ_BAD_DURATION: `spread` is undefined/],
    [{ spread: '1m', perMinute: 1 }, /^DQ_BAD_OPTION: unknown "perMinute" in the new time/],
    [{ later: '1m' }, /^DQ_BAD_OPTION: unknown "later" in the spread/],
    [{ dueFrom: 'x', spread: '1m' }, /^DQ_BAD_TIME/],
  ])('refuses the spread %j', async (spread, message) => {
    const { forecast } = await withDue({});
    await expect(forecast(spread as ForecastSpread)).rejects.toThrow(message);
  });
});

describe('partsOf', () => {
  const HOUR = 60 * MINUTE;
  const DAY = 24 * HOUR;
  /** 600 jobs at once, and one each minute. */
  const peak = 3 * HOUR + 30 * MINUTE;
  const calls: number[] = [];
  const due = () =>
    new DueCounts(
      {
        dueBefore: async (_tube, times) => {
          calls.push(times.length);
          return times.map((at) => Math.floor(at / MINUTE) + (at > peak ? 600 : 0));
        },
      },
      't' as StoredTube,
    );

  it('has the same parts whatever the last bucket is, with a peak to ten seconds', async () => {
    const now = 61_234;
    const parts = await partsOf(due(), now, now + HOUR, 20);
    expect(parts).toEqual(await partsOf(due(), now, now + 2 * HOUR, 20));
    expect(parts.find(({ from }) => from === peak)).toEqual({ from: peak, to: peak + 10_000, jobs: 600 });
    expect(parts[0]!.from).toBe(now);
    expect(parts.at(-1)!.to).toBeGreaterThanOrEqual(now + DAY);
  });

  it.each([1, 30, 365])(
    'asks some hundred times for %d days, with as many jobs as can run, too',
    async (days) => {
      calls.length = 0;
      const parts = await partsOf(due(), 0, days * DAY, 1);
      expect(parts.length).toBeLessThan(1_300);
      expect(calls.length).toBeLessThanOrEqual(8);
      expect(Math.max(...calls)).toBeLessThanOrEqual(201);
    },
  );
});
