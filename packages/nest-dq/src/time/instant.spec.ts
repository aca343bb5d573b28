import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { showInstant, type When } from 'nest-handlers/time';
import { parseWhen } from './instant.js';

describe('showInstant', () => {
  it('shows a date, and a number beyond the range of dates as it is', () => {
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
    [0, /looks like a time from now; add it to the current time; expected a Date/],
    [999_999_999, /looks like a time from now/],
    ['15m', /looks like a time from now/],
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
    [{ epochNanoseconds: 5 }, /not a point in time/],
    [{}, /the time is {}: not a point in time; expected a Date/],
    ['2030-01-01', /a string; parse it first/],
    [null, /not a point in time/],
    [undefined, /not a point in time/],
    [5n, /not a point in time/],
  ])('refuses %p', (value, why) => {
    const parse = () => parseWhen(value as When);
    expect(parse).toThrow(expect.objectContaining({ code: 'DQ_BAD_TIME' }));
    expect(parse).toThrow(why);
  });

  it.each<[unknown, RegExp]>([
    [
      5_000,
      /^DQ_BAD_TIME: the time is 5000: that looks like a time from now; write in\(5000\); expected a Date/,
    ],
    ['15 m', /looks like a time from now; write in\('15 m'\);/],
    [
      2_592_000_000,
      /looks like seconds; multiply by 1000; if it is a time from now, write in\(2592000000\);/,
    ],
  ])('says of %p how the call takes a time from now', (value, why) => {
    expect(() => parseWhen(value as When, (given) => `in(${given})`)).toThrow(why);
  });
});
