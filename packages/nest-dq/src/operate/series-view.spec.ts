import { describe, expect, it } from '@jest/globals';
import type { JobView } from '../api/job.js';
import type { ProcessRecord } from '../fleet/presence.js';
import type { SeriesRunRecord } from '../fleet/series-runs.js';
import { DqError } from '../errors.js';
import type { ClusterProducer } from '../producer/cluster-producer.js';
import { occurrencesOf } from '../recurring/occurrences.js';
import { Series } from '../recurring/series.js';
import { SeriesScheduler } from '../recurring/series-scheduler.js';
import { CollectingHub } from '../../spec-support/collecting-hub.js';
import { embedded } from '../../spec-support/producing.js';
import { viewOfSeries, viewsOfSeries } from './series-view.js';

const HOUR = 3_600_000;

/** State of the ledger. */
interface Known {
  readonly job?: Partial<JobView> | null;
  readonly runs?: readonly string[];
  readonly now?: number;
}

/** Times for the first `count` hours after a time, and then none. */
const hourly = (count: number) => (instant: number) => {
  const next = (Math.floor(instant / HOUR) + 1) * HOUR;
  return next <= count * HOUR ? next : undefined;
};

async function views(
  own: readonly Series[],
  announced: readonly (string | undefined)[],
  { job = { state: 'waiting', dueAt: new Date(HOUR) }, runs = [], now = 0 }: Known = {},
) {
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
    find: async () => job ?? undefined,
    ledgerTime: async () => now,
  } as unknown as ClusterProducer;
  const seriesRuns = { read: async () => [...runs] };
  return viewsOfSeries({ series, presence: { all: async () => present }, seriesRuns, producer });
}

function seriesOf(after: (instant: number) => number | undefined): Series {
  const occurrences = { plan: 'calendar hours', after };
  return new Series('report', { producer: {} as ClusterProducer, occurrences });
}

const AT = Date.parse('2027-01-01T12:00:00Z');

/** The view of a series whose one job is so. */
async function viewed(job: Partial<JobView> | undefined, run?: SeriesRunRecord, isOurs = true) {
  const producer = { find: async () => job, ledgerTime: async () => AT } as unknown as ClusterProducer;
  const occurrences = await occurrencesOf('0 3 * * *', 'Europe/Berlin');
  const series = new Series('report', { producer, occurrences });
  return viewOfSeries(series, producer, { run, isOurs });
}

/** The four times after 03:00 in Berlin on that day of January. */
const laterThan = (day: number) => [1, 2, 3, 4].map((days) => new Date(Date.UTC(2027, 0, day + days, 2)));

const SERIES = { tube: 'report', key: 'recurring', plan: '0 3 * * * Europe/Berlin' };

/** A run that ended this long before AT. */
const ranAgo = (ms: number): SeriesRunRecord => ({
  tube: 'report',
  plan: '0 3 * * * Europe/Berlin',
  outcome: 'dead',
  dueAt: AT - ms - 5_000,
  endedAt: AT - ms,
  attempt: 3,
  took: 4_900,
  process: 'shop-1:17',
  error: 'Error: no such table',
});

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

  it('does not ask for the times after the next one where nobody needs them', async () => {
    const producer = {
      find: async () => ({ state: 'waiting', dueAt: new Date(HOUR) }),
      ledgerTime: async () => 0,
    } as unknown as ClusterProducer;
    const asked: number[] = [];
    const series = seriesOf((instant) => {
      asked.push(instant);
      return undefined;
    });
    expect(await viewOfSeries(series, producer, { times: 0 })).toMatchObject({
      next: new Date(HOUR),
      later: [],
    });
    expect(asked).toEqual([]);
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

  it('has its last run, in whichever process that was', async () => {
    const { tube: _tube, plan: _plan, ...run } = ranAgo(HOUR);
    const last = { ...run, dueAt: new Date(run.dueAt), endedAt: new Date(run.endedAt) };
    expect(await viewed({ state: 'waiting', dueAt: new Date(AT + 5_000) }, ranAgo(HOUR))).toMatchObject({
      last,
    });
    const [view] = await views([], ['0 3 * * * Europe/Berlin'], {
      runs: ['{"tube":"report"}', 'x', JSON.stringify(ranAgo(HOUR))],
    });
    expect(view).toMatchObject({ last });
  });

  it.each(['waiting', 'retrying'] as const)(
    'says since when it is missed if its job is %s',
    async (state) => {
      const missedAt = async (ms: number) => (await viewed({ state, dueAt: new Date(AT - ms) })).missedSince;
      expect(await missedAt(60_000)).toBeUndefined();
      expect(await missedAt(60_001)).toEqual(new Date(AT - 60_001));
    },
  );

  it('is not missed while it runs, however long that takes', async () => {
    const dueAt = new Date(AT - 90 * HOUR);
    expect(await viewed({ state: 'running', dueAt }, ranAgo(99 * HOUR))).not.toHaveProperty('missedSince');
  });

  it('says since when it is missed if it has no job, which its processes should have added', async () => {
    const three = new Date('2027-01-01T02:00:00Z'); // in Berlin
    expect(await viewed(undefined, ranAgo(12 * HOUR))).toMatchObject({ state: 'none', missedSince: three });
    const dead = { state: 'dead', dueAt: new Date('2026-12-31T02:00:00Z') } as const;
    expect(await viewed(dead)).toMatchObject({ state: 'dead', missedSince: three });
    // The one at three was skipped.
    const revoked = { state: 'revoked', dueAt: three } as const;
    expect(await viewed(revoked, ranAgo(12 * HOUR))).not.toHaveProperty('missedSince');
    expect(await viewed(undefined)).not.toHaveProperty('missedSince');
    expect(await viewed(dead, undefined, false)).not.toHaveProperty('missedSince');
  });

  it('is there as long as its job waits, even if no process has it any more', async () => {
    const runs = [JSON.stringify(ranAgo(HOUR))];
    const [view] = await views([], [], { runs, now: 3 * HOUR });
    expect(view).toMatchObject({
      tube: 'report',
      plan: '0 3 * * * Europe/Berlin',
      processes: 0,
      missedSince: new Date(HOUR),
    });
    expect(view).not.toHaveProperty('unequal');
    expect(view!.later).toHaveLength(4);
    expect(await views([], [], { runs, job: { state: 'revoked', dueAt: new Date(HOUR) } })).toEqual([]);
    expect(await views([], [], { runs, job: null })).toEqual([]);
  });
});
