import { describe, expect, it } from '@jest/globals';
import { isClean, tally, type Entry } from './tally.js';

const asked = (due = 1_000, job = 1): Entry => ({ what: 'asked', job, due });
const started = (at = 1_000, job = 1): Entry => ({ what: 'started', job, at });
const failed = (retryAt: number, job = 1): Entry => ({ what: 'failed', job, retryAt });
const succeeded = (job = 1): Entry => ({ what: 'succeeded', job });
const answered = (answer: string, job = 1): Entry => ({ what: 'answered', job, answer });

describe('tally', () => {
  it('is clean when a job ran once, in time', () => {
    const result = tally([asked(), started(1_004), succeeded()]);
    expect(result).toMatchObject({ scheduled: 1, ran: 1, lost: 0, early: 0, duplicates: 0 });
    expect(result.lateness).toEqual({ p50: 4, p99: 4, max: 4 });
    expect(isClean(result)).toBe(true);
  });

  it.each<[string, Entry[], object]>([
    ['a job that never ran is lost', [asked()], { lost: 1 }],
    ['a job whose run never ended is lost', [asked(), started()], { lost: 1 }],
    ['a job that failed and did not come again is lost', [asked(), started(), failed(1_500)], { lost: 1 }],
    ['a run a millisecond before its time is early', [asked(), started(999), succeeded()], { early: 1 }],
    [
      'a retry before its time is early',
      [asked(), started(), failed(1_500), started(1_499), succeeded()],
      { early: 1, retried: 1 },
    ],
    [
      'a run after a successful one is a duplicate',
      [asked(), started(), succeeded(), started(), succeeded()],
      { duplicates: 1, ran: 1 },
    ],
    ['a run during another is a duplicate', [asked(), started(), started(), succeeded()], { duplicates: 1 }],
    [
      'a run after the answer `revoked` is seen',
      [asked(), answered('revoked'), started(), succeeded()],
      { ranAfterRevoke: 1, duplicates: 0 },
    ],
    [
      'a job that was answered `running` and did not run is lost',
      [asked(), answered('running')],
      { lost: 1 },
    ],
  ])('%s', (_fact, log, counts) => {
    const result = tally(log);
    expect(result).toMatchObject(counts);
    expect(isClean(result)).toBe(false);
  });

  it.each<[string, Entry[], object]>([
    [
      'a retry in time is no duplicate',
      [asked(), started(), failed(1_500), started(1_500), succeeded()],
      { retried: 1, ran: 1 },
    ],
    ['a revoked job is not lost', [asked(), answered('revoked')], { revoked: 1, ran: 0 }],
    [
      'a job that waits for a retry can be revoked',
      [asked(), started(), failed(1_500), answered('revoked')],
      { revoked: 1 },
    ],
    ['a revoke that came too late to say loses nothing', [asked(), answered('unknown')], { unsure: 1 }],
    [
      'a job that was answered `done` has run',
      [asked(), started(), succeeded(), answered('done')],
      { ran: 1, revoked: 0 },
    ],
    [
      'jobs are kept apart',
      [asked(), asked(0, 2), started(), started(5, 2), succeeded(), succeeded(2)],
      { ran: 2 },
    ],
  ])('%s', (_fact, log, counts) => {
    const result = tally(log);
    expect(result).toMatchObject(counts);
    expect(isClean(result)).toBe(true);
  });

  it('refuses a log of jobs that were never asked for', () => {
    expect(() => tally([started()])).toThrow('job 1 started, but was never asked for');
  });
});
