import { describe, expect, it } from '@jest/globals';
import type { JobView } from '../api/job.js';
import type { ProcessRecord } from '../fleet/presence.js';
import { DqError } from '../errors.js';
import type { ClusterProducer } from '../producer/cluster-producer.js';
import { occurrencesOf } from '../recurring/occurrences.js';
import { Series } from '../recurring/series.js';
import { SeriesScheduler } from '../recurring/series-scheduler.js';
import { CollectingHub } from '../../spec-support/collecting-hub.js';
import { embedded } from '../../spec-support/producing.js';
import { viewOfSeries, viewsOfSeries } from './series-view.js';

const HOUR = 3_600_000;

/** Times for the first `count` hours after a time, and then none. */
const hourly = (count: number) => (instant: number) => {
  const next = (Math.floor(instant / HOUR) + 1) * HOUR;
  return next <= count * HOUR ? next : undefined;
};

async function views(own: readonly Series[], announced: readonly (string | undefined)[]) {
  const { clock } = await embedded();
  const series = new SeriesScheduler({ events: new CollectingHub(), clock, trouble: () => undefined });
  for (const each of own) series.add(each);
  const tubes = announced.map((plan) => ({ tube: 'report', ...(plan !== undefined && { plan }) }));
  const present = tubes.map((tube) => ({
    record: { tubes: [tube] } as unknown as ProcessRecord,
    at: 0,
    elected: false,
  }));
  const producer = {
    find: async () => ({ state: 'waiting', dueAt: new Date(HOUR) }),
    ledgerTime: async () => 0,
  } as unknown as ClusterProducer;
  return viewsOfSeries({ series, presence: { all: async () => present }, producer });
}

function seriesOf(after: (instant: number) => number | undefined): Series {
  const occurrences = { plan: 'calendar hours', after };
  return new Series('report', { producer: {} as ClusterProducer, occurrences, handler: () => undefined });
}

const AT = Date.parse('2027-01-01T12:00:00Z');

/** The view of a series whose one job is so. */
async function viewed(job: Partial<JobView> | undefined) {
  const producer = { find: async () => job, ledgerTime: async () => AT } as unknown as ClusterProducer;
  const occurrences = await occurrencesOf('0 3 * * *', 'Europe/Berlin');
  return viewOfSeries(new Series('report', { producer, occurrences, handler: () => 1 }), producer);
}

/** The four times after 03:00 in Berlin on that day of January. */
const laterThan = (day: number) => [1, 2, 3, 4].map((days) => new Date(Date.UTC(2027, 0, day + days, 2)));

const SERIES = { tube: 'report', key: 'recurring', plan: '0 3 * * * Europe/Berlin' };

describe('the view of a series', () => {
  it.each(['waiting', 'retrying'] as const)('has the time of its job that is %s', async (state) => {
    const dueAt = new Date(AT + 5_000);
    expect(await viewed({ state, dueAt })).toEqual({ ...SERIES, state, next: dueAt, later: laterThan(1) });
  });

  it('has the next occurrence of its plan while one runs', async () => {
    const next = new Date('2027-01-02T02:00:00Z');
    expect(await viewed({ state: 'running', dueAt: new Date(AT) })).toEqual({
      ...SERIES,
      state: 'running',
      next,
      later: laterThan(2),
    });
  });

  it('has no time if nothing is scheduled', async () => {
    const dueAt = new Date(AT - 5_000);
    expect(await viewed({ state: 'revoked', dueAt })).toEqual({ ...SERIES, state: 'revoked', later: [] });
    expect(await viewed(undefined)).toEqual({ ...SERIES, state: 'none', later: [] });
  });

  it('has the times after the next one, as many as the plan has left', async () => {
    const [view] = await views([seriesOf(hourly(3))], ['calendar hours']);
    expect(view).toMatchObject({ plan: 'calendar hours', processes: 1, next: new Date(HOUR) });
    expect(view!.later.map((at) => at.getTime() / HOUR)).toEqual([2, 3]);
    const [long] = await views([seriesOf(hourly(99))], []);
    expect(long!.later.map((at) => at.getTime() / HOUR)).toEqual([2, 3, 4, 5]);
  });

  it('ends its times where the calendar fails', async () => {
    const failing = (instant: number) => {
      if (instant >= 2 * HOUR) throw new DqError('DQ_BAD_OPTION', 'the plan failed: no such year');
      return instant + HOUR;
    };
    const [view] = await views([seriesOf(failing)], []);
    expect(view!.later).toEqual([new Date(2 * HOUR)]);
  });

  it('of another process has its cron times, but not those of a calendar', async () => {
    const [cron] = await views([], ['30 * * * * UTC']);
    expect(cron!.later.map((at) => at.toISOString().slice(11, 16))).toEqual([
      '01:30',
      '02:30',
      '03:30',
      '04:30',
    ]);
    const [calendar] = await views([], ['calendar hours', undefined]);
    expect(calendar).toMatchObject({ plan: 'calendar hours', later: [], processes: 1 });
    const [garbage] = await views([], ['x']);
    expect(garbage).toMatchObject({ plan: 'x', later: [], next: new Date(HOUR) });
  });

  it('says if processes have different plans', async () => {
    const [equal] = await views([], ['0 3 * * * UTC', '0 3 * * * UTC']);
    expect(equal).not.toHaveProperty('unequal');
    const [unequal] = await views([], ['0 3 * * * UTC', '0 4 * * * UTC']);
    expect(unequal).toMatchObject({ plan: '0 3 * * * UTC', unequal: true, processes: 2 });
  });
});
