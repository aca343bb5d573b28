import { describe, expect, it } from '@jest/globals';
import { DqError } from '../../errors.js';
import { Again, Discard, Retry, type Outcome } from '../../api/outcome.js';
import {
  deathOf,
  failureText,
  isOutcome,
  outcomeOf,
  textOf,
  type Limits,
  type RunOutcome,
} from './outcome.js';

const limits: Limits = {
  attempt: 2,
  attempts: 5,
  backoff: { type: 'exponential', delay: 1_000, max: 60_000, jitter: 0 },
};
const last: Limits = { ...limits, attempt: 5 };

function retryOf(verdict: RunOutcome): Extract<RunOutcome, { kind: 'retry' }> {
  if (verdict.kind !== 'retry') throw new Error(`expected a retry, got ${verdict.kind}`);
  return verdict;
}

function deadOf(verdict: RunOutcome): Extract<RunOutcome, { kind: 'dead' }> {
  if (verdict.kind !== 'dead') throw new Error(`expected dead, got ${verdict.kind}`);
  return verdict;
}

describe('isOutcome', () => {
  it.each([[undefined], [null], [0], [false], ['retry'], [{}], [new Error('returned')], [() => 'x']])(
    'is false for %p',
    (result) => expect(isOutcome(result)).toBe(false),
  );

  it('is true for each of them', () => {
    const outcomes: Outcome[] = [Retry.after(1), Again.after(1), Discard.because('x')];
    expect(outcomes.map(isOutcome)).toEqual([true, true, true]);
  });
});

describe('an outcome', () => {
  it('Retry waits for its own delay instead of the backoff', () => {
    const { delay, error } = retryOf(outcomeOf(Retry.after('90s'), limits));
    expect(delay).toBe(90_000);
    expect(error).toBeInstanceOf(Retry);
  });

  it('Retry with a cause reports the cause, which may be anything', () => {
    const cause = new Error('busy');
    expect(retryOf(outcomeOf(Retry.after(1, cause), limits)).error).toBe(cause);
    expect(retryOf(outcomeOf(Retry.after(1, 'text'), limits)).error.message).toContain('"text"');
  });

  it('Retry may be at once', () => {
    expect(retryOf(outcomeOf(Retry.after(0), limits)).delay).toBe(0);
  });

  it('Retry with a bad delay keeps the job, by its backoff, and shows the slip', () => {
    for (const bad of ['90', -5, NaN, 'soon', undefined, {}]) {
      const { delay, error } = retryOf(outcomeOf(Retry.after(bad as '1s'), limits));
      expect(delay).toBe(2_000);
      expect((error as DqError).code).toBe('DQ_BAD_DURATION');
    }
  });

  it('Retry counts as an attempt: after the last there is none', () => {
    const { death, error } = deadOf(outcomeOf(Retry.after('1s'), last));
    expect(death.why).toBe('attempts');
    expect(error).toBeInstanceOf(Retry);
    expect(deadOf(outcomeOf(Retry.after('nonsense' as '1s'), last)).death.why).toBe('attempts');
  });

  it('Again schedules the next run after its delay, or at its instant', () => {
    expect(outcomeOf(Again.after('90s'), last)).toEqual({ kind: 'again', delay: 90_000, at: 0 });
    const instant = new Date(Date.UTC(2030, 0, 1));
    expect(outcomeOf(Again.at(instant), limits)).toEqual({ kind: 'again', delay: 0, at: instant.getTime() });
  });

  it('Again with a bad delay or instant is a failure that shows the slip', () => {
    for (const bad of ['90', -5, NaN, undefined]) {
      const { delay, error } = retryOf(outcomeOf(Again.after(bad as '1s'), limits));
      expect(delay).toBe(2_000);
      expect((error as DqError).code).toBe('DQ_BAD_DURATION');
    }
    for (const bad of ['tomorrow', new Date(NaN), 1_700_000_000, undefined]) {
      const { error } = retryOf(outcomeOf(Again.at(bad as Date), limits));
      expect((error as DqError).code).toBe('DQ_BAD_TIME');
    }
    expect(retryOf(outcomeOf(Again.at(5_000), limits)).error.message).toContain('write Again.after(5000);');
    expect(deadOf(outcomeOf(Again.after('nonsense' as '1s'), last)).death.why).toBe('attempts');
  });

  it('that breaks when it is read is a failure', () => {
    const broken = { '~outcome': 'again' };
    expect(retryOf(outcomeOf(broken, limits)).error).toBeInstanceOf(TypeError);
  });

  it('Discard is dead at once, with its reason', () => {
    const { death } = deadOf(outcomeOf(Discard.because('user is gone'), { ...limits, attempt: 1 }));
    expect(death.why).toBe('discarded');
    expect(death.error?.message).toBe('user is gone');
  });

  it('is recognized by its mark alone, and then reported as an Error', () => {
    const { death, error } = deadOf(outcomeOf({ '~outcome': 'discard', reason: 5n }, limits));
    expect(death.why).toBe('discarded');
    expect(typeof death.error?.message).toBe('string');
    expect(error).toBeInstanceOf(Error);
    expect(retryOf(outcomeOf({ '~outcome': 'retry', delay: 5 }, limits)).error).toBeInstanceOf(Error);
  });

  it('is recognized by its mark, since an application may have this library twice', () => {
    const foreignRetry = Object.assign(new Error('x'), { '~outcome': 'retry', delay: 5 });
    const foreignDiscard = Object.assign(new Error('gone'), { '~outcome': 'discard' });
    expect(retryOf(outcomeOf(foreignRetry, limits)).delay).toBe(5);
    expect(deadOf(outcomeOf(foreignDiscard, limits)).death.why).toBe('discarded');
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
      const verdict = retryOf(outcomeOf(thrown, { ...limits, attempt }));
      expect(verdict.delay).toBe(delay);
      expect(verdict.error).toBe(thrown);
    }
  });

  it('may be anything', () => {
    expect(retryOf(outcomeOf(undefined, limits)).error.message).toContain('undefined');
    expect(retryOf(outcomeOf('text', limits)).error.message).toContain('"text"');
    expect(retryOf(outcomeOf(null, limits)).error).toBeInstanceOf(Error);
  });

  it('may even be a proxy that refuses every question', () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    expect(retryOf(outcomeOf(proxy, limits)).error.message).toContain('unreadable');
    expect(isOutcome(proxy)).toBe(false);
  });

  it('ends the job when its attempts are used up, even when there are fewer than were begun', () => {
    const { death } = deadOf(outcomeOf(new TypeError('no'), last));
    expect(death).toMatchObject({ why: 'attempts', error: { name: 'TypeError', message: 'no' } });
    expect(deadOf(outcomeOf(new Error('no'), { ...limits, attempt: 9 })).death.why).toBe('attempts');
    expect(retryOf(outcomeOf(new Error('no'), { ...limits, attempt: 4 })).kind).toBe('retry');
  });
});

describe('a backoff function', () => {
  const withBackoff = (backoff: Limits['backoff']): Limits => ({ ...limits, backoff });

  it('is asked with the attempt that failed and its error', () => {
    const asked: unknown[] = [];
    const backoff = (...given: unknown[]) => {
      asked.push(given);
      return '1m' as const;
    };
    const thrown = new Error('no');
    expect(outcomeOf(thrown, withBackoff(backoff))).toEqual({ kind: 'retry', delay: 60_000, error: thrown });
    expect(asked).toEqual([[2, thrown]]);
  });

  it('is not asked where Retry says how long, nor when there is no next attempt', () => {
    const never = () => {
      throw new Error('it was asked');
    };
    expect(retryOf(outcomeOf(Retry.after(5), withBackoff(never))).delay).toBe(5);
    expect(deadOf(outcomeOf(new Error('no'), { ...last, backoff: never })).error.message).toBe('no');
  });

  it('that throws keeps the job, by the default backoff, and shows both errors', () => {
    const slip = new Error('no such table');
    const backoff = () => {
      throw slip;
    };
    const { delay, error } = retryOf(outcomeOf(new Error('no'), withBackoff(backoff)));
    expect(delay).toBeGreaterThanOrEqual(3_200);
    expect(delay).toBeLessThanOrEqual(4_000);
    expect(error).toMatchObject({ code: 'DQ_BAD_OPTION', cause: slip });
    expect(error.message).toMatch(/«no».*no such table/);
  });

  it.each([['soon'], [-5], [NaN], [undefined], [1e12], [Promise.resolve(5)]])(
    'that returns %p too',
    (nonsense) => {
      const { delay, error } = retryOf(
        outcomeOf(
          new Error('no'),
          withBackoff(() => nonsense as number),
        ),
      );
      expect(delay).toBeGreaterThanOrEqual(3_200);
      expect((error.cause as DqError).code).toBe('DQ_BAD_DURATION');
    },
  );

  it('that returns a promise has its rejection taken, which would end the process', () => {
    let taken = false;
    const promise = { __proto__: Promise.prototype, catch: () => void (taken = true) };
    const backoff = () => promise as unknown as number;
    expect(retryOf(outcomeOf(new Error('no'), withBackoff(backoff))).delay).toBeGreaterThan(0);
    expect(taken).toBe(true);
  });
});

describe('textOf', () => {
  const answering = (getResponse: unknown) => Object.assign(new Error('Bad Request'), { getResponse });

  it.each<[string, unknown, string]>([
    ['no response', undefined, 'Bad Request'],
    ['what is no function', 'text', 'Bad Request'],
    ['a response that is a text', () => 'Bad Request', 'Bad Request'],
    ['a message that is known', () => ({ message: 'Bad Request' }), 'Bad Request'],
    ['a message of its own', () => ({ message: 'no id' }), 'Bad Request: no id'],
    ['a list', () => ({ message: ['no id', 'no sku'] }), 'Bad Request: no id, no sku'],
    ['a list of objects', () => ({ message: [{ path: 'id' }] }), 'Bad Request: {"path":"id"}'],
    ['an empty list', () => ({ message: [] }), 'Bad Request'],
    ['no message', () => ({ statusCode: 400 }), 'Bad Request'],
    ['nothing', () => undefined, 'Bad Request'],
    [
      'a method that throws',
      () => {
        throw new Error('not sent yet');
      },
      'Bad Request',
    ],
  ])('includes what an error has in its response only: %s', (_what, getResponse, text) => {
    expect(textOf(answering(getResponse))).toBe(text);
    expect(deathOf('attempts', answering(getResponse)).error?.message).toBe(text);
  });

  it('includes the errors that one without a message gathers, such as that of a connection to a host with two addresses', () => {
    const error = new AggregateError([
      new Error('connect ECONNREFUSED ::1:80'),
      new Error('connect ECONNREFUSED 127.0.0.1:80'),
    ]);
    expect(textOf(error)).toBe('connect ECONNREFUSED ::1:80, connect ECONNREFUSED 127.0.0.1:80');
  });
});

describe('failureText', () => {
  it('has 300 characters at most, of which the name takes 60', () => {
    const error = new Error('m'.repeat(5_000));
    error.name = 'N'.repeat(100);
    expect(failureText(error)).toEqual({ name: 'N'.repeat(60), message: 'm'.repeat(240) });
    expect(failureText(new TypeError('no card'))).toEqual({ name: 'TypeError', message: 'no card' });
  });

  it('replaces half a character, which the ledger could not read', () => {
    const { message } = failureText(new Error(`${'m'.repeat(294)}😀`));
    expect(message).toBe(`${'m'.repeat(294)}\uFFFD`);
  });
});

describe('deathOf', () => {
  it('replaces half a character, which the ledger could not read', () => {
    const message = `${'x'.repeat(1_999)}😀`;
    expect(deathOf('attempts', new Error(message)).error?.message).toBe(`${'x'.repeat(1_999)}\uFFFD`);
  });

  it('keeps only the beginning of a long message', () => {
    expect(deathOf('attempts', new Error('x'.repeat(5_000))).error?.message).toHaveLength(2_000);
  });

  it('keeps only the beginning of the stack', () => {
    const error = new Error('deep');
    error.stack = 'x'.repeat(5_000);
    expect(deathOf('invalid', error).error?.stack).toHaveLength(2_000);
    delete error.stack;
    expect(deathOf('invalid', error).error?.stack).toBeUndefined();
  });
});
