import { describe, expect, it } from '@jest/globals';
import { defineTopic } from '../api/topic.js';
import { resolveFailureOptions, type FailureOptions } from './failure-options.js';

describe('resolveFailureOptions', () => {
  it('tries without end where nothing takes a message, and else three times', () => {
    expect(resolveFailureOptions({}, ['t'])).toMatchObject({
      timeout: undefined,
      attempts: Infinity,
      deadLetter: undefined,
    });
    expect(resolveFailureOptions({ deadLetter: 'dead' }, ['t'])).toMatchObject({
      attempts: 3,
      deadLetter: { topic: 'dead' },
    });
  });

  it('takes each option', () => {
    const given = { timeout: 5, retry: { attempts: 1, backoff: 7 }, deadLetter: 'drop' };
    const settings = resolveFailureOptions(given, ['t']);
    expect(settings).toMatchObject({ timeout: 5, attempts: 1, deadLetter: 'drop' });
    expect(settings.backoff(9, new Error('x'))).toBe(7);
    const inWords = resolveFailureOptions({ timeout: '5s', retry: { backoff: '7s' } }, ['t']);
    expect([inWords.timeout, inWords.backoff(9, new Error('x'))]).toEqual([5_000, 7_000]);
    const topic = defineTopic('drop');
    expect(resolveFailureOptions({ deadLetter: topic }, [/^t/]).deadLetter).toEqual({ topic: 'drop' });
  });

  it.each<[unknown, string]>([
    [
      5,
      'KQ_BAD_OPTION: the options of the failures are 5: expected an object with timeout, retry, deadLetter',
    ],
    [{ retries: 5 }, 'there is no `retries` in the options of the failures: expected one of timeout, retry'],
    [{ retry: 5 }, 'the options of `retry` are 5: expected an object with through, attempts, backoff'],
    [
      { retry: { delay: 5 } },
      'there is no `delay` in the options of `retry`: expected one of through, attempts, backoff',
    ],
    [{ timeout: 0 }, '`timeout` is 0: expected 1 ms to 1 day'],
    [{ timeout: 'soon' }, "`timeout` is 'soon': not a duration; expected"],
    [{ retry: { attempts: 0 }, deadLetter: 'd' }, '`retry.attempts` is 0: expected a whole number from 1'],
    [{ retry: { attempts: 3 } }, '`retry.attempts` is 3, and there is no `deadLetter`: expected a topic'],
    [{ retry: { backoff: -1 } }, '`retry.backoff` is -1: negative; expected'],
    [{ deadLetter: 'a b' }, "KQ_BAD_TOPIC: the topic is 'a b'"],
    [{ deadLetter: 'other' }, "`deadLetter` is 'other': expected another topic than those which it handles"],
    [
      { deadLetter: 'orders.dead' },
      "`deadLetter` is 'orders.dead': expected another topic than those which it handles, such as /^orders/",
    ],
  ])('refuses %p', (options, why) => {
    const resolve = () => resolveFailureOptions(options as FailureOptions, ['other', /^orders/]);
    expect(resolve).toThrow(why);
  });
});
