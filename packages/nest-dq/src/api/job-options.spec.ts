import { describe, expect, it } from '@jest/globals';
import { resolveJobOptions } from './job-options.js';
import type { JobOptions } from './job.js';

describe('resolveJobOptions', () => {
  it('has defaults for everything', () => {
    const defaults = { onDuplicate: 'replace', priority: 1, allowPast: false };
    expect(resolveJobOptions(undefined)).toEqual(defaults);
    expect(resolveJobOptions({})).toEqual(defaults);
    expect(resolveJobOptions({ priority: undefined, headers: undefined })).toEqual(defaults);
  });

  it('takes all there are', () => {
    expect(
      resolveJobOptions({
        key: 'order:42',
        onDuplicate: 'keep',
        priority: 'high',
        attempts: 3,
        backoff: { type: 'fixed', delay: '5s', max: '1h', jitter: 0 },
        headers: { tenant: 'ä\n' },
        group: 'user-17',
        allowPast: true,
      }),
    ).toEqual({
      key: 'order:42',
      onDuplicate: 'keep',
      priority: 0,
      attempts: 3,
      backoff: { type: 'fixed', delay: 5_000, max: 3_600_000, jitter: 0 },
      headers: { tenant: 'ä\n' },
      group: 'user-17',
      allowPast: true,
    });
    expect(resolveJobOptions({ priority: 'low' }).priority).toBe(2);
    expect(resolveJobOptions({ expireAfter: '10m' }).expires).toBe(600_000);
    const expireAt = new Date('2027-01-01T00:00:00Z');
    expect(resolveJobOptions({ expireAt }).expires).toBe(expireAt.getTime());
  });

  it('keeps the headers as they were at the call', () => {
    const headers = { tenant: 'a' };
    const resolved = resolveJobOptions({ headers });
    headers.tenant = 'b';
    expect(resolved.headers).toEqual({ tenant: 'a' });
  });

  it.each<[unknown, string]>([
    [null, 'the options of the job is null'],
    [5, 'the options of the job is 5'],
    [{ key: undefined }, '`key` is undefined: expected a string'],
    [{ key: undefined, onDuplicate: 'keep' }, '`key` is undefined'],
    [{ priority: 'urgent' }, '`priority` is "urgent"'],
    [{ priority: 1 }, '`priority` is 1'],
    [{ attempts: 0 }, '`attempts` is 0'],
    [{ attempts: -1 }, 'expected a positive integer'],
    [{ attempts: 1.5 }, '`attempts` is 1.5'],
    [{ attempts: Infinity }, '`attempts` is Infinity'],
    [{ attempts: '3' }, '`attempts` is "3"'],
    [{ attempts: null }, '`attempts` is null'],
    [{ backoff: 'fixed' }, '`backoff` is "fixed"'],
    [{ expireAfter: 0 }, '`expireAfter` is 0: expected a duration longer than 0'],
    [{ expireAt: new Date(5) }, 'expected a time after the job is due'],
    [{ expireAfter: '1m', expireAt: new Date() }, 'expected none, because `expireAfter` is given'],
    [{ allowPast: 'yes' }, '`allowPast` is "yes"'],
    [{ headers: 'x' }, '`headers` is "x"'],
    [{ headers: null }, '`headers` is null'],
    [{ headers: ['x'] }, '`headers` is ["x"]'],
    [{ headers: new Map([['tenant', 'a']]) }, '`headers` is {}'],
    [{ headers: { tenant: 5 } }, 'the header `tenant` is 5'],
    [{ headers: { tenant: undefined } }, 'the header `tenant` is undefined'],
    [{ group: '' }, '`group` is "": expected a string of 1 to 100 characters'],
    [{ group: 17 }, '`group` is 17'],
    [{ group: null }, '`group` is null'],
    [{ group: 'x'.repeat(101) }, '101 characters: expected a string of 1 to 100 characters'],
    [{ key: '' }, '`key` is ""'],
    [{ key: 42 }, '`key` is 42'],
    [{ key: null }, '`key` is null'],
    [{ key: 'x'.repeat(501) }, 'expected a string of 1 to 500 characters'],
    [{ key: 'k', onDuplicate: 'drop' }, '`onDuplicate` is "drop"'],
    [{ key: 'k', onDuplicate: null }, '`onDuplicate` is null'],
    [{ onDuplicate: 'keep' }, '`onDuplicate` is "keep": expected a `key` as well'],
    [{ cluster: 'second' }, 'unknown job option `cluster`'],
    [{ timeout: '5s' }, 'unknown job option `timeout`'],
    [{ prioritiy: 'high' }, 'unknown job option `prioritiy`'],
  ])('refuses %p by name', (options, text) => {
    const resolve = () => resolveJobOptions(options as JobOptions);
    expect(resolve).toThrow(expect.objectContaining({ code: 'DQ_BAD_OPTION' }));
    expect(resolve).toThrow(text);
  });

  it.each([1, 10, Number.MAX_SAFE_INTEGER])('takes %p attempts', (attempts) => {
    expect(resolveJobOptions({ attempts })).toMatchObject({ attempts });
  });

  it('takes a key of any characters, and what happens to the job that has it', () => {
    for (const key of [' ', 'x'.repeat(500), '🐇\ud800\0'])
      expect(resolveJobOptions({ key })).toMatchObject({ key, onDuplicate: 'replace' });
    for (const onDuplicate of ['replace', 'keep', 'reject'] as const)
      expect(resolveJobOptions({ key: 'k', onDuplicate }).onDuplicate).toBe(onDuplicate);
  });

  it('refuses a wrong duration inside the backoff as such', () => {
    expect(() => resolveJobOptions({ backoff: { type: 'fixed', delay: '900' as '900s' } })).toThrow(
      expect.objectContaining({ code: 'DQ_BAD_DURATION' }),
    );
  });
});
