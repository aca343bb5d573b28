import { describe, expect, it } from '@jest/globals';
import type { JobView } from '../job.js';
import type { DqProducer } from '../producer/producer.js';
import { occurrencesOf } from './occurrences.js';
import { Series } from './series.js';

/** What one look after a nightly series comes to, when the ledger tells this of its job. */
async function kept(now: string, known?: { state: JobView['state']; dueAt: string }): Promise<unknown[]> {
  const calls: unknown[] = [];
  const note =
    (name: string) =>
    async (...args: unknown[]) => {
      calls.push([name, ...args]);
    };
  const producer = {
    find: async () => known && { ...known, dueAt: new Date(known.dueAt) },
    at: async (_tube: string, _payload: unknown, when: number, options: object) =>
      calls.push(['at', new Date(when).toISOString(), options]),
    reschedule: async (_ref: object, when: number) =>
      calls.push(['reschedule', new Date(when).toISOString()]),
    revoke: note('revoke'),
  } as unknown as DqProducer;
  const occurrences = await occurrencesOf('0 3 * * *');
  await new Series('report', { producer, occurrences, handler: () => undefined }).keep(Date.parse(now));
  return calls;
}

const keep = { key: 'recurring', onDuplicate: 'keep', allowPast: true };

describe('a series whose job', () => {
  it('is unknown begins at the next occurrence, unless another process was first', async () => {
    expect(await kept('2027-01-01T12:00:00Z')).toEqual([['at', '2027-01-02T03:00:00.000Z', keep]]);
  });

  it.each(['dead', 'revoked', 'done'] as const)(
    'is %s begins anew, and never at what is over',
    async (state) => {
      const dueAt = '2027-01-02T03:00:00Z';
      const next = [['at', '2027-01-03T03:00:00.000Z', keep]];
      expect(await kept('2027-01-02T03:00:02Z', { state, dueAt })).toEqual(next);
      // By a clock that is behind the others.
      expect(await kept('2027-01-02T02:59:58Z', { state, dueAt })).toEqual(next);
    },
  );

  it.each([
    ['waits for the next occurrence', '2027-01-01T12:00:00Z', 'waiting', '2027-01-02T03:00:00Z'],
    [
      'waits for the next but one, by a clock that is behind',
      '2027-01-02T02:59:58Z',
      'waiting',
      '2027-01-03T03:00:00Z',
    ],
    ['is due, by a clock that is ahead', '2027-01-02T03:00:05Z', 'waiting', '2027-01-02T03:00:00Z'],
    ['is overdue', '2027-01-02T05:00:00Z', 'waiting', '2027-01-01T03:00:00Z'],
    ['runs', '2027-01-01T12:00:00Z', 'running', '2027-01-01T09:00:00Z'],
    ['waits for a retry', '2027-01-01T12:00:00Z', 'retrying', '2027-01-01T12:30:00Z'],
  ] as const)('%s is left alone', async (_what, now, state, dueAt) => {
    expect(await kept(now, { state, dueAt })).toEqual([]);
  });

  it('waits for another time is moved', async () => {
    const moved = [['reschedule', '2027-01-02T03:00:00.000Z']];
    expect(await kept('2027-01-01T12:00:00Z', { state: 'waiting', dueAt: '2027-01-02T09:00:00Z' })).toEqual(
      moved,
    );
    expect(await kept('2027-01-01T12:00:00Z', { state: 'waiting', dueAt: '2027-01-01T15:00:00Z' })).toEqual(
      moved,
    );
    expect(await kept('2027-01-01T12:00:00Z', { state: 'waiting', dueAt: '2027-02-01T03:00:00Z' })).toEqual(
      moved,
    );
  });
});
