import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { systemClock } from './clock.js';
import { duration, parseDuration } from './duration.js';
import { parseWhen, showInstant, type When } from './instant.js';

const DAY = 86_400_000;

describe('parseDuration', () => {
  it.each<[string | number, number]>([
    [0, 0],
    [1.2, 2],
    [1e12 - 1, 1e12 - 1],
    ['0s', 0],
    ['500ms', 500],
    ['1.5ms', 2],
    ['30s', 30_000],
    ['1.5h', 5_400_000],
    ['15m', 900_000],
    ['1 minute', 60_000],
    ['12h', 12 * 3_600_000],
    ['2 days', 2 * DAY],
    ['1w', 7 * DAY],
    [' 3 weeks ', 21 * DAY],
    ['15 Minutes', 900_000],
    ['15MIN', 900_000],
    ['2H', 7_200_000],
    ['500MS', 500],
  ])('takes %p', (value, ms) => {
    expect(parseDuration(value, 'x')).toBe(ms);
  });

  it.each<[unknown, RegExp]>([
    ['900', /no unit/],
    ['1.5', /no unit/],
    ['-5m', /negative/],
    ['- 5m', /negative/],
    [-1, /negative/],
    ['1M', /M might mean months; minutes are m/],
    ['15 M', /M might mean months/],
    ['1MO', /months and years/],
    ['1 month', /months and years/],
    ['2y', /months and years/],
    ['1 year', /months and years/],
    ['Infinity', /not a duration/],
    ['Infinityms', /not a duration/],
    ['NaN', /not a duration/],
    ['', /not a duration/],
    ['soon', /not a duration/],
    ['1h30m', /not a duration/],
    ['1e3ms', /not a duration/],
    ['.5s', /not a duration/],
    ['+5s', /not a duration/],
    ['5 ms later', /not a duration/],
    ['PT5M', /not a duration/],
    ['12000d', /longer than 31 years/],
    ['999999999999.5ms', /longer than 31 years/],
    [`${'0'.repeat(120)}5s`, /longer than 31 years/],
    [NaN, /not a finite number/],
    [Infinity, /not a finite number/],
    [1e12, /timestamp.*`at`/],
    [1e12 - 0.5, /timestamp.*`at`/],
    [1_900_000_000_000, /timestamp of 2030-03-17T17:46:40.000Z, which belongs in `at`/],
    [undefined, /neither a number nor a text/],
    [null, /neither a number nor a text/],
    [new Date(5), /1970-01-01T00:00:00.005Z: that is an instant, which belongs in `at`/],
    [{ epochMilliseconds: 5 }, /an instant, which belongs in `at`/],
    [{ toDate: () => new Date(5) }, /an instant, which belongs in `at`/],
    [{}, /neither a number nor a text/],
    [5n, /neither a number nor a text/],
  ])('refuses %p', (value, why) => {
    const parse = () => parseDuration(value as string, 'the delay');
    expect(parse).toThrow(expect.objectContaining({ code: 'DQ_BAD_DURATION' }));
    expect(parse).toThrow(why);
    expect(parse).toThrow(/^DQ_BAD_DURATION: the delay is .*'15m'/);
  });
});

describe('duration', () => {
  it('makes milliseconds of a text that the compiler does not know', () => {
    expect([duration('15m' as string), duration(' 1.5ms '), duration(5)]).toEqual([900_000, 2, 5]);
    expect(() => duration('900')).toThrow(/^DQ_BAD_DURATION: the duration is "900": no unit/);
    expect(() => duration(undefined as unknown as string)).toThrow(/the duration is undefined/);
  });
});

describe('showInstant', () => {
  it('shows a date, and what is too far for one as it is', () => {
    expect(showInstant(Date.UTC(2160, 0, 1))).toBe('2160-01-01T00:00:00.000Z');
    expect(showInstant(9e15)).toBe('9000000000000000 ms since 1970');
  });
});

describe('parseWhen', () => {
  const instant = Date.UTC(2030, 0, 1);
  it.each<[string, When, number]>([
    ['a Date', new Date(instant), instant],
    ['an early Date', new Date(5), 5],
    ['milliseconds', instant, instant],
    ['fractions, which are rounded up', instant + 0.1, instant + 1],
    ['a Temporal.Instant by its shape', { epochMilliseconds: instant }, instant],
    ['an object of Day.js by its shape', { toDate: () => new Date(instant) }, instant],
    ['an object of Luxon by its shape', { toJSDate: () => new Date(instant) }, instant],
    ['a Date of another realm', runInNewContext(`new Date(${instant})`) as Date, instant],
  ])('takes %s', (_name, when, ms) => {
    expect(parseWhen(when)).toBe(ms);
  });

  it.each<[unknown, RegExp]>([
    [Math.floor(instant / 1000), /looks like seconds; multiply by 1000/],
    [0, /looks like seconds/],
    [-1, /before 1970/],
    [new Date(-1), /before 1970/],
    [new Date(NaN), /an invalid Date: not a finite time/],
    [NaN, /not a finite time/],
    [Infinity, /not a finite time/],
    [{ epochMilliseconds: NaN }, /not a finite time/],
    [{ epochMilliseconds: 5n }, /not a finite time/],
    [{ toDate: () => new Date(NaN) }, /not a finite time/],
    [{ toJSDate: () => 'noon' }, /not a finite time/],
    [{ toDate: new Date(instant) }, /not a finite time/],
    [{ epochNanoseconds: 5 }, /no instant/],
    [{}, /the instant is {}: no instant; expected a Date/],
    ['2030-01-01', /a text; parse it first/],
    [null, /no instant/],
    [undefined, /no instant/],
    [5n, /no instant/],
  ])('refuses %p', (value, why) => {
    const parse = () => parseWhen(value as When);
    expect(parse).toThrow(expect.objectContaining({ code: 'DQ_BAD_TIME' }));
    expect(parse).toThrow(why);
  });
});

describe('systemClock.after', () => {
  afterEach(() => {
    jest.useRealTimers();
  });

  it('takes delays that setTimeout cannot', () => {
    jest.useFakeTimers();
    const called = jest.fn();
    systemClock.after(60 * DAY, called);
    jest.advanceTimersByTime(60 * DAY - 1);
    expect(called).not.toHaveBeenCalled();
    jest.advanceTimersByTime(1);
    expect(called).toHaveBeenCalledTimes(1);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('never calls back for an endless delay', () => {
    jest.useFakeTimers();
    const called = jest.fn();
    const timer = systemClock.after(Infinity, called);
    jest.advanceTimersByTime(200 * DAY);
    expect(called).not.toHaveBeenCalled();
    timer.cancel();
    expect(jest.getTimerCount()).toBe(0);
  });

  it('is cancelled for good, in the middle of a long delay too', () => {
    jest.useFakeTimers();
    const called = jest.fn();
    const timer = systemClock.after(60 * DAY, called);
    jest.advanceTimersByTime(40 * DAY);
    timer.cancel();
    timer.cancel();
    jest.advanceTimersByTime(40 * DAY);
    expect(called).not.toHaveBeenCalled();
    expect(jest.getTimerCount()).toBe(0);
  });

  it('is not early by its own clock, although setTimeout is', async () => {
    const early = await Promise.all(
      Array.from({ length: 500 }, (_, i) => {
        const delay = 1 + (i % 40) / 4;
        const start = systemClock.now();
        return new Promise<boolean>((resolve) => {
          systemClock.after(delay, () => resolve(systemClock.now() - start < delay));
        });
      }),
    );
    expect(early.filter(Boolean)).toEqual([]);
  });

  it('calls back at once for what is past', async () => {
    await new Promise<void>((resolve) => systemClock.after(-5, resolve));
  });
});

describe('systemClock', () => {
  it('tells the wall clock, and a clock that only grows', () => {
    expect(Math.abs(systemClock.wall() - Date.now())).toBeLessThan(1_000);
    const first = systemClock.now();
    expect(systemClock.now()).toBeGreaterThanOrEqual(first);
  });

  it('calls back soon, but never within the call', async () => {
    const order: string[] = [];
    await new Promise<void>((resolve) => {
      systemClock.soon(() => {
        order.push('soon');
        resolve();
      });
      order.push('after the call');
    });
    expect(order).toEqual(['after the call', 'soon']);
  });
});
