import { describe, expect, it } from '@jest/globals';
import type { JobView } from '../api/job.js';
import { occurrencesOf } from '../recurring/occurrences.js';
import { Series } from '../recurring/series.js';
import type { ClusterProducer } from '../producer/cluster-producer.js';
import { viewOfSeries } from './series-view.js';

const AT = Date.parse('2027-01-01T12:00:00Z');

/** The view of a series whose one job is so. */
async function viewed(job: Partial<JobView> | undefined) {
  const producer = { find: async () => job, ledgerTime: async () => AT } as unknown as ClusterProducer;
  const occurrences = await occurrencesOf('0 3 * * *', 'Europe/Berlin');
  return viewOfSeries(new Series('report', { producer, occurrences, handler: () => 1 }), producer);
}

const SERIES = { tube: 'report', key: 'recurring', plan: '0 3 * * * Europe/Berlin' };

describe('the view of a series', () => {
  it.each(['waiting', 'retrying'] as const)('has the time of its job that is %s', async (state) => {
    const dueAt = new Date(AT + 5_000);
    expect(await viewed({ state, dueAt })).toEqual({ ...SERIES, state, next: dueAt });
  });

  it('has the next occurrence of its plan while one runs', async () => {
    const next = new Date('2027-01-02T02:00:00Z');
    expect(await viewed({ state: 'running', dueAt: new Date(AT) })).toEqual({
      ...SERIES,
      state: 'running',
      next,
    });
  });

  it('has no time if nothing is scheduled', async () => {
    const dueAt = new Date(AT - 5_000);
    expect(await viewed({ state: 'revoked', dueAt })).toEqual({ ...SERIES, state: 'revoked' });
    expect(await viewed(undefined)).toEqual({ ...SERIES, state: 'none' });
  });
});
