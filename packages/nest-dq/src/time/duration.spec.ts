import { describe, expect, it } from '@jest/globals';
import type { Duration } from 'nest-handlers/time';
import { duration, parseDuration } from './duration.js';

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
    ['1h30m', 5_400_000],
    ['1h 30m', 5_400_000],
    ['1 day 12 hours', 1.5 * DAY],
    ['1w2d3h4m5s6ms', 9 * DAY + 3 * 3_600_000 + 245_006],
    ['1m500ms', 60_500],
  ])('takes %p', (value, ms) => {
    expect(parseDuration(value, 'x')).toBe(ms);
  });

  it.each<[unknown, RegExp]>([
    ['900', /no unit/],
    ['1.5', /no unit/],
    ['-5m', /negative/],
    ['- 5m', /negative/],
    [-1, /negative/],
    ['1M', /M might mean months; write m for minutes/],
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
    ['30m1h', /not ordered from its largest unit to its smallest, each once/],
    ['1h1hour', /not ordered from its largest unit/],
    ['1h 30', /not a duration/],
    ['1h, 30m', /not a duration/],
    ['1h  30m', /not a duration/],
    ['1h-30m', /not a duration/],
    ['1h30M', /M might mean months/],
    ['1M2s', /M might mean months/],
    ['1h3 months', /not a duration/],
    ['5000d5000d5000d', /not ordered/],
    ['7000d 175200h', /longer than 31 years/],
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
    [1_900_000_000_000, /timestamp 2030-03-17T17:46:40.000Z; pass it as `at`/],
    [undefined, /neither a number nor a string/],
    [null, /neither a number nor a string/],
    [new Date(5), /1970-01-01T00:00:00.005Z: that is a point in time; pass it as `at`/],
    [{ epochMilliseconds: 5 }, /a point in time; pass it as `at`/],
    [{ toDate: () => new Date(5) }, /a point in time; pass it as `at`/],
    [{}, /neither a number nor a string/],
    [5n, /neither a number nor a string/],
  ])('refuses %p', (value, why) => {
    const parse = () => parseDuration(value as string, 'the delay');
    expect(parse).toThrow(expect.objectContaining({ code: 'DQ_BAD_DURATION' }));
    expect(parse).toThrow(why);
    expect(parse).toThrow(/^DQ_BAD_DURATION: the delay is .*'15m'/);
  });
});

it('the type Duration has the usual combinations', () => {
  const combined: Duration[] = ['1w2d', '1d12h', '1d2h30m', '1h30m', '1h30m15s', '5m30s'];
  expect(combined.map((each) => parseDuration(each, 'x'))).toEqual([
    9 * DAY,
    1.5 * DAY,
    95_400_000,
    5_400_000,
    5_415_000,
    330_000,
  ]);
  // @ts-expect-error: the units ascend
  const ascending: Duration = '30m1h';
  expect(() => parseDuration(ascending, 'x')).toThrow(/not ordered/);
});

describe('duration', () => {
  it('parses a string that the compiler cannot check into milliseconds', () => {
    expect([duration('15m' as string), duration(' 1.5ms '), duration(5)]).toEqual([900_000, 2, 5]);
    expect(() => duration('900')).toThrow(/^DQ_BAD_DURATION: the duration is "900": no unit/);
    expect(() => duration(undefined as unknown as string)).toThrow(/the duration is undefined/);
  });
});
