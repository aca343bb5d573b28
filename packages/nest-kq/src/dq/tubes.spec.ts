import { describe, expect, it } from '@jest/globals';
import { tubeOfPushes, tubeOfRetries } from './tubes.js';

describe('the tubes', () => {
  it.each([
    [tubeOfPushes(undefined), 'kq-push'],
    [tubeOfPushes('audit'), 'kq-push//audit'],
    [tubeOfRetries(undefined, 'shop'), 'kq/shop'],
    [tubeOfRetries('audit', 'shop'), 'kq//audit/shop'],
    [tubeOfRetries(undefined, 'a/b c$é'), 'kq/a$2fb$20c$24$c3$a9'],
  ])('%s', (tube, expected) => {
    expect(tube).toBe(expected);
  });

  it('are short and differ for long names', () => {
    const [one, other] = ['a', 'b'].map((end) => tubeOfRetries(undefined, 'g'.repeat(300) + end));
    expect(one).not.toBe(other);
    expect([one!.length, other!.length].every((length) => length <= 120)).toBe(true);
  });
});
