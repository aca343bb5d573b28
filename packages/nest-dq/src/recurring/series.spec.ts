import { describe, expect, it } from '@jest/globals';
import type { DelayedJob, JobView } from '../api/job.js';
import { Again } from '../api/outcome.js';
import { occurrencesOf, type RecurrencePlan } from './occurrences.js';
import { Series, type SeriesProducer } from './series.js';

const NIGHTLY = '0 3 * * *';
const headers = { 'dq-plan': `${NIGHTLY} UTC` };

interface Known {
  readonly state: JobView['state'];
  readonly dueAt: string;
  /** Undefined if no copy of it is in reach. */
  readonly headers?: Record<string, string>;
}

/** The calls of a series to its producer at this ledger time, given what is known of its job. */
async function scheduled(now: string, known?: Known, plan: RecurrencePlan = NIGHTLY): Promise<unknown[]> {
  const calls: unknown[] = [];
  const view = known && ({ ...known, ref: 'ref', dueAt: new Date(known.dueAt) } as unknown as JobView);
  const iso = (when: unknown) => new Date(when as number).toISOString();
  const producer = {
    ledgerTime: async () => Date.parse(now),
    find: async () => view,
    headersOf: async () => known?.headers,
    at: async (_tube, _payload, when, options) => {
      calls.push(['at', iso(when), options]);
      return { status: 'added' } as never;
    },
    replan: async (_ref, when, written) => calls.push(['replan', iso(when), written]) as never,
    revoke: async () => calls.push(['revoke']) as never,
  } as SeriesProducer;
  const occurrences = await occurrencesOf(plan);
  await new Series('report', { producer, occurrences }).schedule();
  return calls;
}

/** The return value of a run of the nightly series with these headers. */
async function returned(given: Record<string, string>): Promise<unknown> {
  const occurrences = await occurrencesOf(NIGHTLY);
  const series = new Series('report', { producer: {} as SeriesProducer, occurrences });
  const dueAt = new Date('2027-01-01T03:00:00Z');
  const job = { key: 'recurring', dueAt, lateness: 0, headers: given } as unknown as DelayedJob;
  return series.run(() => 'went well', undefined, job);
}

const keep = { key: 'recurring', onDuplicate: 'keep', allowPast: true, headers };

describe('a series whose job', () => {
  it('is unknown begins at the next occurrence, unless another process was first', async () => {
    expect(await scheduled('2027-01-01T12:00:00Z')).toEqual([['at', '2027-01-02T03:00:00.000Z', keep]]);
  });

  it.each(['dead', 'revoked', 'done', 'expired'] as const)(
    'is %s starts over, and never in the past',
    async (state) => {
      const dueAt = '2027-01-02T03:00:00Z';
      const next = [['at', '2027-01-03T03:00:00.000Z', keep]];
      expect(await scheduled('2027-01-02T03:00:02Z', { state, dueAt })).toEqual(next);
      // By a clock that is behind the others.
      expect(await scheduled('2027-01-02T02:59:58Z', { state, dueAt })).toEqual(next);
    },
  );

  it.each([
    ['next occurrence', '2027-01-02T03:00:00Z'],
    ['next but one, as the next was skipped', '2027-01-03T03:00:00Z'],
    ['time to which people moved it', '2027-01-01T17:00:00Z'],
  ])('waits under the same plan for the %s is left alone', async (_what, dueAt) => {
    expect(await scheduled('2027-01-01T12:00:00Z', { state: 'waiting', dueAt, headers })).toEqual([]);
  });

  it('waits by a calendar that returns another time at each look is left alone', async () => {
    const next = (after: Date) => new Date(after.getTime() + 3_600_000);
    const hourly: RecurrencePlan = { name: 'hourly', next };
    const { plan } = await occurrencesOf(hourly);
    const job = { dueAt: '2027-01-01T12:30:00Z', headers: { 'dq-plan': plan } };
    expect(await scheduled('2027-01-01T12:00:00Z', { state: 'waiting', ...job }, hourly)).toEqual([]);
  });

  const other = { 'dq-plan': '0 3 * * * Europe/Berlin' };
  it.each([
    ['is overdue', '2027-01-02T05:00:00Z', 'waiting', '2027-01-01T03:00:00Z', other],
    ['runs', '2027-01-01T12:00:00Z', 'running', '2027-01-01T09:00:00Z', other],
    ['waits for a retry', '2027-01-01T12:00:00Z', 'retrying', '2027-01-01T12:30:00Z', other],
    ['has no copy in reach', '2027-01-01T12:00:00Z', 'waiting', '2027-01-02T02:00:00Z', undefined],
  ] as const)('%s is left alone, whatever its plan was', async (_what, now, state, dueAt, given) => {
    expect(await scheduled(now, { state, dueAt, ...(given ? { headers: given } : {}) })).toEqual([]);
  });

  it.each([
    ['another plan, later', '2027-01-02T09:00:00Z', { 'dq-plan': '0 9 * * * UTC' }],
    ['another plan, at one of this one, too', '2027-02-01T03:00:00Z', { 'dq-plan': '0 3 1 * * UTC' }],
    ['no plan', '2027-01-01T15:00:00Z', {}],
  ])('waits by %s is moved', async (_what, dueAt, given) => {
    const moved = [['replan', '2027-01-02T03:00:00.000Z', headers]];
    expect(await scheduled('2027-01-01T12:00:00Z', { state: 'waiting', dueAt, headers: given })).toEqual(
      moved,
    );
  });

  it('waits by another plan is revoked, when this one has no occurrence any more', async () => {
    const job = { dueAt: '2027-01-02T03:00:00Z', headers };
    expect(
      await scheduled(
        '2027-01-01T12:00:00Z',
        { state: 'waiting', ...job },
        { name: 'never', next: () => undefined },
      ),
    ).toEqual([['revoke']]);
  });
});

describe('a run of a series', () => {
  it('says when the next one is', async () => {
    expect(await returned(headers)).toEqual(Again.at(Date.parse('2027-01-02T03:00:00Z')));
  });

  it('that another plan had scheduled ends the job, which starts over by this one', async () => {
    expect(await returned({ 'dq-plan': '0 3 1 * * UTC' })).toBe('went well');
  });
});
