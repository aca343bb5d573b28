import { describe, expect, it } from '@jest/globals';
import { DEFAULT_BACKOFF, backoffDelay, resolveBackoff, type BackoffPlan } from './backoff.js';

describe('resolveBackoff', () => {
  it('fills the defaults', () => {
    expect(resolveBackoff({ type: 'exponential' })).toEqual(DEFAULT_BACKOFF);
    expect(resolveBackoff({ type: 'exponential', delay: '5s', max: '1m', jitter: 0 })).toEqual({
      type: 'exponential',
      delay: 5_000,
      max: 60_000,
      jitter: 0,
    });
  });

  it('leaves a fixed wait as it is, unless more is said', () => {
    const fixed = { type: 'fixed', delay: 7_200_000, max: 7_200_000, jitter: 0 };
    expect(resolveBackoff({ type: 'fixed', delay: '2h' })).toEqual(fixed);
    expect(resolveBackoff({ type: 'fixed', delay: '2h', max: '3h', jitter: 0.5 })).toEqual({
      ...fixed,
      max: 10_800_000,
      jitter: 0.5,
    });
  });

  it.each<[BackoffPlan, RegExp]>([
    [{ type: 'exponential', delay: '2h' }, /`backoff.delay` is "2h", but `backoff.max` defaults to 1 h/],
    [
      { type: 'exponential', delay: '2s', max: '1s' },
      /`backoff.max` is "1s": expected `backoff.delay`, which is 2000 ms/,
    ],
    [{ type: 'exponential', max: '1s' }, /`backoff.max` is "1s": expected/],
    [{ type: 'fixed', delay: '2s', max: 1_999 }, /`backoff.max` is 1999: expected/],
  ])('refuses a limit below the first wait: %p', (plan, why) => {
    const resolve = () => resolveBackoff(plan);
    expect(resolve).toThrow(expect.objectContaining({ code: 'DQ_BAD_OPTION' }));
    expect(resolve).toThrow(why);
  });

  it.each<unknown>([
    undefined,
    null,
    5,
    'fixed',
    {},
    { type: 'linear' },
    { type: 'fixed', jitter: -0.1 },
    { type: 'fixed', dealy: '2s' },
    { type: 'fixed', jitter: 1.1 },
    { type: 'fixed', jitter: NaN },
    { type: 'fixed', jitter: '0.5' },
  ])('refuses %p', (plan) => {
    expect(() => resolveBackoff(plan as BackoffPlan)).toThrow(
      expect.objectContaining({ code: 'DQ_BAD_OPTION' }),
    );
  });

  it('names the duration that is wrong', () => {
    expect(() => resolveBackoff({ type: 'fixed', delay: '5' as '5s' })).toThrow(/`backoff.delay` is "5"/);
    expect(() => resolveBackoff({ type: 'fixed', max: '1M' as '1m' })).toThrow(/`backoff.max` is "1M"/);
  });
});

describe('backoffDelay', () => {
  it('doubles from attempt to attempt, up to its limit', () => {
    const plan = resolveBackoff({ type: 'exponential', delay: '2s', max: '20s', jitter: 0 });
    expect([1, 2, 3, 4, 5, 1_000].map((attempt) => backoffDelay(plan, attempt, 0))).toEqual([
      2_000, 4_000, 8_000, 16_000, 20_000, 20_000,
    ]);
  });

  it('stays the same where it is fixed, and within its limit', () => {
    const plan = resolveBackoff({ type: 'fixed', delay: '2h' });
    expect([1, 2, 50].map((attempt) => backoffDelay(plan, attempt, Math.random()))).toEqual([
      7_200_000, 7_200_000, 7_200_000,
    ]);
    expect(backoffDelay({ ...plan, max: 1_000 }, 1, 0)).toBe(1_000);
  });

  it('randomizes at most the jitter part', () => {
    const plan = resolveBackoff({ type: 'exponential', delay: 10_000, jitter: 0.2 });
    expect(backoffDelay(plan, 1, 0)).toBe(10_000);
    expect(backoffDelay(plan, 1, 0.5)).toBe(9_000);
    for (let i = 0; i < 1_000; i++) {
      const wait = backoffDelay(plan, 1 + (i % 20), Math.random());
      const longest = backoffDelay(plan, 1 + (i % 20), 0);
      expect(wait).toBeLessThanOrEqual(longest);
      expect(wait).toBeGreaterThanOrEqual(longest * 0.8 - 1);
      expect(Number.isInteger(wait)).toBe(true);
    }
  });
});
