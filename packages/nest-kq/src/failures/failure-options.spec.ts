import { describe, expect, it } from '@jest/globals';
import { defineTopic } from '../api/topic.js';
import { resolveFailureOptions, type FailureOptions } from './failure-options.js';

describe('resolveFailureOptions', () => {
  const resolve = (options: FailureOptions, dq = false) =>
    resolveFailureOptions(options, { topics: ['t'], group: 'shop', dq });
  const slip = new Error('slip');

  it('tries three times in place, then stores the message in a topic of its topic and group', () => {
    const settings = resolve({});
    expect(settings).toMatchObject({ timeout: undefined, attempts: 3, through: undefined, usesDq: false });
    expect(settings.deadLetter(slip, 't')).toEqual({ topic: 't.shop.kq-dead', madeFor: 't' });
    expect(resolve({ retry: { attempts: Infinity } }).attempts).toBe(Infinity);
  });

  it('retries through nest-dq where that is installed, unless attempts or a place are given', () => {
    const settings = resolve({}, true);
    expect(settings).toMatchObject({ attempts: 10, through: { what: 'dq', from: 3 }, needsDq: false });
    expect(settings.deadLetter(slip, 't')).toBe('dq');
    const inPlace = resolve({ retry: { attempts: 5 } }, true);
    expect(inPlace).toMatchObject({ attempts: 5, through: undefined, needsDq: false, usesDq: true });
    expect(inPlace.deadLetter(slip, 't')).toBe('dq');
    const named = resolve({ deadLetter: 'dead' }, true);
    expect(named).toMatchObject({ attempts: 3, through: undefined, usesDq: false });
    expect(resolve({ deadLetter: () => 'dq' }, true).usesDq).toBe(true);
    expect(named.deadLetter(slip, 't')).toEqual({ topic: 'dead' });
    expect(resolve({ retry: { through: 'dq' } })).toMatchObject({ needsDq: true, through: { from: 1 } });
  });

  it('has as many runs through topics as delays, and one before them', () => {
    const settings = resolve({ retry: { through: 'topics', delays: ['10s', '90m'] } }, true);
    expect(settings).toMatchObject({ attempts: 3, through: { what: 'topics' }, delays: [10_000, 5_400_000] });
    expect([1, 2].map((attempt) => settings.backoff(attempt, slip))).toEqual([10_000, 5_400_000]);
    expect(settings.deadLetter(slip, 't')).toEqual({ topic: 't.shop.kq-dead', madeFor: 't' });
    expect(resolve({ retry: { through: 'topics' } }).delays).toEqual([10_000, 60_000, 600_000]);
  });

  it('chooses by the error whether and where', () => {
    class Gone extends TypeError {}
    const { retries } = resolve({ retry: { retryOn: [TypeError, RangeError], notRetryOn: Gone } });
    const errors = [new TypeError('x'), new RangeError('x'), new Gone('x'), slip];
    expect(errors.map(retries)).toEqual([true, true, false, false]);
    const byText = resolve({ retry: { notRetryOn: ({ message }) => message === 'slip' } });
    expect([slip, new Error('other')].map(byText.retries)).toEqual([false, true]);
    const { deadLetter } = resolve({ deadLetter: (error) => (error instanceof Gone ? 'drop' : 'dead') });
    expect([deadLetter(new Gone('x'), 't'), deadLetter(slip, 't')]).toEqual(['drop', { topic: 'dead' }]);
    expect(() => resolve({ deadLetter: () => 't' }).deadLetter(slip, 't')).toThrow(
      'expected a topic the handler does not consume itself',
    );
  });

  it('takes each option', () => {
    const given = { timeout: 5, retry: { attempts: 1, backoff: 7 }, deadLetter: 'drop' };
    const settings = resolve(given);
    expect(settings).toMatchObject({ timeout: 5, attempts: 1 });
    expect(settings.deadLetter(slip, 't')).toBe('drop');
    expect(settings.backoff(9, new Error('x'))).toBe(7);
    const inWords = resolve({ timeout: '5s', retry: { backoff: '7s' } });
    expect([inWords.timeout, inWords.backoff(9, new Error('x'))]).toEqual([5_000, 7_000]);
    const topic = defineTopic('drop');
    expect(resolve({ deadLetter: topic }).deadLetter(slip, 't')).toEqual({ topic: 'drop' });
  });

  it.each<[unknown, string]>([
    [
      5,
      'KQ_BAD_OPTION: the options of the failures are 5: expected an object with timeout, retry, deadLetter',
    ],
    [{ retries: 5 }, 'there is no `retries` in the options of the failures: expected one of timeout, retry'],
    [
      { retry: 5 },
      'the options of `retry` are 5: expected an object with through, attempts, backoff, delays',
    ],
    [
      { retry: { delay: 5 } },
      'there is no `delay` in the options of `retry`: expected one of through, attempts, backoff, delays',
    ],
    [{ timeout: 0 }, '`timeout` is 0: expected 1 ms to 1 day'],
    [{ timeout: 'soon' }, "`timeout` is 'soon': not a duration; expected"],
    [{ retry: { attempts: 0 }, deadLetter: 'd' }, '`retry.attempts` is 0: expected a whole number from 1'],
    [{ retry: { through: 'kafka' } }, "`retry.through` is 'kafka': expected 'dq', 'topics', or nothing"],
    [
      { retry: { through: 'dq', attempts: Infinity } },
      '`retry.attempts` is Infinity: expected a whole number',
    ],
    [
      { retry: { delays: ['1s'] } },
      "`retry.delays` is [ '1s' ]: expected this option only with `through: 'topics'`",
    ],
    [{ retry: { retryOn: [Object] } }, '`retry.retryOn` is [ [Function: Object] ]: expected error classes'],
    [{ retry: { notRetryOn: class Odd {} } }, '`retry.notRetryOn` is [class Odd]: expected error classes'],
    [{ retry: { backoff: -1 } }, '`retry.backoff` is -1: negative; expected'],
    [{ deadLetter: 'a b' }, "KQ_BAD_TOPIC: the topic is 'a b'"],
    [
      { deadLetter: 'other' },
      "`deadLetter` is 'other': expected a topic the handler does not consume itself",
    ],
    [
      { deadLetter: 'orders.dead' },
      "`deadLetter` is 'orders.dead': expected a topic the handler does not consume itself, as it does /^orders/",
    ],
  ])('refuses %p', (options, why) => {
    const owner = { topics: ['other', /^orders/], group: 'shop', dq: false };
    expect(() => resolveFailureOptions(options as FailureOptions, owner)).toThrow(why);
  });

  it.each<[unknown, readonly (string | RegExp)[], string]>([
    [{ attempts: 3 }, ['t'], '`retry.attempts` is 3: expected `delays` instead'],
    [{ backoff: 3 }, ['t'], '`retry.backoff` is 3: expected `delays` instead'],
    [{ delays: [] }, ['t'], '`retry.delays` is []: expected a list of 1 to 20 durations'],
    [{ delays: ['1s', 10] }, ['t'], '`retry.delays[1]` is 10: expected 1 second to 1 day'],
    [{}, [/^t/], "a topic with `through: 'topics'` is /^t/: expected names"],
  ])('refuses %p through topics for %p', (retry, topics, why) => {
    const options = { retry: { through: 'topics', ...(retry as object) } } as FailureOptions;
    expect(() => resolveFailureOptions(options, { topics, group: 'shop', dq: false })).toThrow(why);
  });
});
