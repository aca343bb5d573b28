import { describe, expect, it } from '@jest/globals';
import type { DqError } from '../../errors.js';
import type { HandlerOptions } from '../../api/job.js';
import {
  DEFAULT_HANDLER_SETTINGS,
  resolveHandlerDefaults,
  resolveHandlerOptions,
  slotsOf,
} from './handler-settings.js';

function refusal(options: unknown): string {
  try {
    resolveHandlerOptions(options as HandlerOptions);
  } catch (error) {
    return `${(error as DqError).code} ${(error as DqError).message}`;
  }
  throw new Error('it was accepted');
}

describe('resolveHandlerOptions', () => {
  it('fills missing options from the given defaults, then the built-in ones', () => {
    expect(resolveHandlerOptions()).toEqual(DEFAULT_HANDLER_SETTINGS);
    const defaults = { ...DEFAULT_HANDLER_SETTINGS, concurrency: 3, attempts: 7 };
    expect(resolveHandlerOptions({ attempts: 2 }, defaults)).toEqual({ ...defaults, attempts: 2 });
    expect(resolveHandlerOptions({ concurrency: undefined }, defaults).concurrency).toBe(3);
  });

  it('has the defaults that are documented', () => {
    expect(DEFAULT_HANDLER_SETTINGS).toEqual({
      concurrency: 10,
      attempts: 10,
      backoff: { type: 'exponential', delay: 2_000, max: 3_600_000, jitter: 0.2 },
    });
  });

  it('takes a backoff plan with its durations read', () => {
    const { backoff } = resolveHandlerOptions({ backoff: { type: 'fixed', delay: '5s', jitter: 0 } });
    expect(backoff).toEqual({ type: 'fixed', delay: 5_000, max: 5_000, jitter: 0 });
  });

  it('takes a backoff function as it is', () => {
    const backoff = () => 5;
    expect(resolveHandlerOptions({ backoff }).backoff).toBe(backoff);
  });

  it('takes a timeout, of the handler before the module’s', () => {
    const defaults = { ...DEFAULT_HANDLER_SETTINGS, timeout: 9 };
    expect(resolveHandlerOptions({ timeout: '5s' }, defaults).timeout).toBe(5_000);
    expect(resolveHandlerOptions({}, defaults).timeout).toBe(9);
    expect(resolveHandlerOptions().timeout).toBeUndefined();
  });

  it('takes limits, and returns each in the form of the ledger and as it was given', () => {
    expect(resolveHandlerOptions({ limit: { rate: 100 } })).toMatchObject({
      limit: { rate: 100, per: 1_000, burst: 1 },
      limits: { interval: 10_000, burst: 1 },
    });
    const all = { rate: 7, per: '1m', burst: 3, concurrency: 5, perGroup: 2 } as const;
    expect(resolveHandlerOptions({ limit: all })).toMatchObject({
      limit: { ...all, per: 60_000 },
      limits: { interval: 8_571_429, burst: 3, concurrency: 5, perGroup: 2 },
    });
    expect(resolveHandlerOptions({ limit: { perGroup: 1 } })).toMatchObject({
      limit: { perGroup: 1 },
      limits: { perGroup: 1 },
    });
    const none = resolveHandlerOptions({ limit: undefined });
    expect(none).toMatchObject({ limit: undefined, limits: undefined });
  });

  it('has no more runs in a process than the limit allows in all of them', () => {
    expect(slotsOf(resolveHandlerOptions({ limit: { concurrency: 5 } }))).toBe(5);
    expect(slotsOf(resolveHandlerOptions({ concurrency: 3, limit: { concurrency: 5 } }))).toBe(3);
    expect(slotsOf(resolveHandlerOptions({ limit: { perGroup: 1 } }))).toBe(10);
  });

  it('refuses a limit as a default of all handlers', () => {
    const resolve = () => resolveHandlerDefaults({ limit: { rate: 1 } } as HandlerOptions);
    expect(resolve).toThrow(
      'DQ_BAD_OPTION: `limit` is {"rate":1}: expected it on a handler, because each tube has its own limits',
    );
    expect(resolveHandlerDefaults({ attempts: 3 }).attempts).toBe(3);
  });

  it.each([
    [{ limit: 5 }, 'DQ_BAD_OPTION', '`limit` is 5: expected an object such as { rate: 100 }'],
    [{ limit: null }, 'DQ_BAD_OPTION', '`limit` is null'],
    [
      { limit: {} },
      'DQ_BAD_OPTION',
      '`limit` is {}: expected an object with `rate`, `concurrency` or `perGroup`',
    ],
    [{ limit: { burst: 5 } }, 'DQ_BAD_OPTION', '`limit` is {"burst":5}: expected an object with `rate`'],
    [{ limit: { max: 5 } }, 'DQ_BAD_OPTION', 'unknown limit option `max` (given 5): expected one of rate'],
    [{ limit: { rate: 0 } }, 'DQ_BAD_OPTION', '`limit.rate` is 0: expected a positive integer'],
    [{ limit: { rate: 0.5 } }, 'DQ_BAD_OPTION', '`limit.rate` is 0.5'],
    [{ limit: { rate: '9' } }, 'DQ_BAD_OPTION', '`limit.rate` is "9"'],
    [{ limit: { rate: 1, per: 0 } }, 'DQ_BAD_OPTION', '`limit.per` is 0: expected a duration longer than 0'],
    [{ limit: { rate: 1, per: '1' } }, 'DQ_BAD_DURATION', '`limit.per` is "1"'],
    [{ limit: { rate: 1, burst: 0 } }, 'DQ_BAD_OPTION', '`limit.burst` is 0'],
    [
      { limit: { concurrency: 1, burst: 2 } },
      'DQ_BAD_OPTION',
      '`limit.burst` is 2: expected a `rate` as well',
    ],
    [
      { limit: { perGroup: 1, per: '1s' } },
      'DQ_BAD_OPTION',
      '`limit.per` is "1s": expected a `rate` as well',
    ],
    [{ limit: { concurrency: 0 } }, 'DQ_BAD_OPTION', '`limit.concurrency` is 0'],
    [{ limit: { perGroup: -1 } }, 'DQ_BAD_OPTION', '`limit.perGroup` is -1'],
    [{ concurrency: 0 }, 'DQ_BAD_OPTION', '`concurrency` is 0'],
    [{ concurrency: 1.5 }, 'DQ_BAD_OPTION', '`concurrency` is 1.5'],
    [{ concurrency: Infinity }, 'DQ_BAD_OPTION', '`concurrency` is Infinity'],
    [{ concurrency: '5' }, 'DQ_BAD_OPTION', '`concurrency` is "5"'],
    [{ attempts: 0 }, 'DQ_BAD_OPTION', '`attempts` is 0'],
    [{ attempts: -1 }, 'DQ_BAD_OPTION', '`attempts` is -1'],
    [{ attempts: null }, 'DQ_BAD_OPTION', '`attempts` is null'],
    [{ backoff: 'fixed' }, 'DQ_BAD_OPTION', '`backoff` is "fixed"'],
    [{ backoff: { type: 'linear' } }, 'DQ_BAD_OPTION', '`backoff` is {"type":"linear"}'],
    [{ backoff: { type: 'fixed', delay: '5' } }, 'DQ_BAD_DURATION', '`backoff.delay` is "5"'],
    [{ timeout: 0 }, 'DQ_BAD_OPTION', '`timeout` is 0: expected a duration longer than 0'],
    [{ timeout: '0s' }, 'DQ_BAD_OPTION', '`timeout` is "0s"'],
    [{ timeout: '5' }, 'DQ_BAD_DURATION', '`timeout` is "5"'],
    [{ timeout: -1 }, 'DQ_BAD_DURATION', '`timeout` is -1'],
    [{ cluster: 'orders' }, 'DQ_BAD_OPTION', 'unknown handler option `cluster`'],
    [{ concurency: 5 }, 'DQ_BAD_OPTION', 'unknown handler option `concurency` (given 5)'],
    [null, 'DQ_BAD_OPTION', 'the handler options are null'],
    [5, 'DQ_BAD_OPTION', 'the handler options are 5'],
  ])('refuses %p', (options, code, message) => {
    const text = refusal(options);
    expect(text.startsWith(`${code} `)).toBe(true);
    expect(text).toContain(message);
  });

  it('lists the options of the caller along with its own', () => {
    const refused = () => resolveHandlerOptions({ tz: 'UTC' } as HandlerOptions, undefined, ['cluster']);
    expect(refused).toThrow(
      /unknown handler option `tz`.*: expected one of concurrency, attempts, backoff, timeout, expireAfter, onExpired, limit, batch, cluster$/,
    );
  });
});
