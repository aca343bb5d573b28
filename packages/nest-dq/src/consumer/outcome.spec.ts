import { describe, expect, it } from '@jest/globals';
import { DqError } from '../errors.js';
import { Discard, Retry } from '../job.js';
import { deathOf, judgeError, judgeResult, type Limits, type Verdict } from './outcome.js';

const limits: Limits = {
  attempt: 2,
  attempts: 5,
  backoff: { type: 'exponential', delay: 1_000, max: 60_000, jitter: 0 },
};
const last: Limits = { ...limits, attempt: 5 };

function retryOf(verdict: Verdict): Extract<Verdict, { kind: 'retry' }> {
  if (verdict.kind !== 'retry') throw new Error(`expected a retry, got ${verdict.kind}`);
  return verdict;
}

function deadOf(verdict: Verdict): Extract<Verdict, { kind: 'dead' }> {
  if (verdict.kind !== 'dead') throw new Error(`expected dead, got ${verdict.kind}`);
  return verdict;
}

describe('what a handler returns', () => {
  it.each([[undefined], [null], [0], [false], ['retry'], [{}], [new Error('returned')], [() => 'x']])(
    'is done when it is %p',
    (result) => expect(judgeResult(result, limits)).toEqual({ kind: 'done' }),
  );
});

describe.each([
  ['returned', judgeResult],
  ['thrown', judgeError],
])('an outcome that is %s', (_how, judge) => {
  it('Retry waits for its own delay instead of the backoff', () => {
    const { delay, error } = retryOf(judge(Retry.after('90s'), limits));
    expect(delay).toBe(90_000);
    expect(error).toBeInstanceOf(Retry);
  });

  it('Retry with a cause reports the cause, which may be anything', () => {
    const cause = new Error('busy');
    expect(retryOf(judge(Retry.after(1, cause), limits)).error).toBe(cause);
    expect(retryOf(judge(Retry.after(1, 'text'), limits)).error.message).toContain('"text"');
  });

  it('Retry may be at once', () => {
    expect(retryOf(judge(Retry.after(0), limits)).delay).toBe(0);
  });

  it('Retry with a bad delay keeps the job, by its backoff, and shows the slip', () => {
    for (const bad of ['90', -5, NaN, 'soon', undefined, {}]) {
      const { delay, error } = retryOf(judge(Retry.after(bad as string), limits));
      expect(delay).toBe(2_000);
      expect((error as DqError).code).toBe('DQ_BAD_DURATION');
    }
  });

  it('Retry counts as an attempt: after the last there is none', () => {
    const { death, error } = deadOf(judge(Retry.after('1s'), last));
    expect(death.why).toBe('attempts');
    expect(error).toBeInstanceOf(Retry);
    expect(deadOf(judge(Retry.after('nonsense'), last)).death.why).toBe('attempts');
  });

  it('Discard is dead at once, with its reason', () => {
    const { death } = deadOf(judge(Discard.because('user is gone'), { ...limits, attempt: 1 }));
    expect(death.why).toBe('discarded');
    expect(death.error?.message).toBe('user is gone');
  });

  it('is known by its mark alone, and is then told as an Error', () => {
    const { death, error } = deadOf(judge({ '~outcome': 'discard', reason: 5n }, limits));
    expect(death.why).toBe('discarded');
    expect(typeof death.error?.message).toBe('string');
    expect(error).toBeInstanceOf(Error);
    expect(retryOf(judge({ '~outcome': 'retry', delay: 5 }, limits)).error).toBeInstanceOf(Error);
  });

  it('is known by its mark, for an application may have this library twice', () => {
    const foreignRetry = Object.assign(new Error('x'), { '~outcome': 'retry', delay: 5 });
    const foreignDiscard = Object.assign(new Error('gone'), { '~outcome': 'discard' });
    expect(retryOf(judge(foreignRetry, limits)).delay).toBe(5);
    expect(deadOf(judge(foreignDiscard, limits)).death.why).toBe('discarded');
  });
});

describe('what a handler throws', () => {
  it('is a failure, and waits for the backoff of the attempt', () => {
    const thrown = new Error('no');
    for (const [attempt, delay] of [
      [1, 1_000],
      [2, 2_000],
      [4, 8_000],
    ] as const) {
      const verdict = retryOf(judgeError(thrown, { ...limits, attempt }));
      expect(verdict.delay).toBe(delay);
      expect(verdict.error).toBe(thrown);
    }
  });

  it('may be anything', () => {
    expect(retryOf(judgeError(undefined, limits)).error.message).toContain('undefined');
    expect(retryOf(judgeError('text', limits)).error.message).toContain('"text"');
    expect(retryOf(judgeError(null, limits)).error).toBeInstanceOf(Error);
  });

  it('may even be a proxy that refuses every question', () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    expect(retryOf(judgeError(proxy, limits)).error.message).toContain('cannot be read');
    expect(judgeResult(proxy, limits)).toEqual({ kind: 'done' });
  });

  it('ends the job when its attempts are used up, also when there are fewer than were begun', () => {
    const { death } = deadOf(judgeError(new TypeError('no'), last));
    expect(death).toMatchObject({ why: 'attempts', error: { name: 'TypeError', message: 'no' } });
    expect(deadOf(judgeError(new Error('no'), { ...limits, attempt: 9 })).death.why).toBe('attempts');
    expect(retryOf(judgeError(new Error('no'), { ...limits, attempt: 4 })).kind).toBe('retry');
  });
});

describe('deathOf', () => {
  it('keeps the beginning of a long message only', () => {
    expect(deathOf('attempts', new Error('x'.repeat(5_000))).error?.message).toHaveLength(2_000);
  });

  it('keeps the beginning of the stack only', () => {
    const error = new Error('deep');
    error.stack = 'x'.repeat(5_000);
    expect(deathOf('invalid', error).error?.stack).toHaveLength(2_000);
    delete error.stack;
    expect(deathOf('invalid', error).error?.stack).toBeUndefined();
  });
});
