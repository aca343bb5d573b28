import { describe, expect, it, jest } from '@jest/globals';
import { occurrencesOf, type RecurrenceCalendar, type RecurrencePlan } from './occurrences.js';

const DAY = 86_400_000;
const iso = (instant: number | undefined) => new Date(instant ?? NaN).toISOString();

/** All of them in some days from `from` on. */
async function within(days: number, from: string, plan: RecurrencePlan, tz?: string): Promise<string[]> {
  const occurrences = await occurrencesOf(plan, tz);
  const start = Date.parse(from);
  const found: string[] = [];
  for (let at = occurrences.after(start - 1); at !== undefined && at < start + days * DAY;) {
    found.push(iso(at));
    at = occurrences.after(at);
  }
  return found;
}

describe('a cron expression', () => {
  it('returns the first occurrence later than an instant, to the millisecond', async () => {
    const { after } = await occurrencesOf('0 3 * * *');
    expect(iso(after(Date.parse('2027-01-01T02:59:59.999Z')))).toBe('2027-01-01T03:00:00.000Z');
    expect(iso(after(Date.parse('2027-01-01T03:00:00.000Z')))).toBe('2027-01-02T03:00:00.000Z');
  });

  it('has a field of seconds, if it has six', async () => {
    const { after } = await occurrencesOf('*/5 * * * * *');
    expect(iso(after(Date.parse('2027-01-01T00:00:00Z')))).toBe('2027-01-01T00:00:05.000Z');
  });

  it('may be a rare one', async () => {
    const { after } = await occurrencesOf('0 0 29 2 *');
    expect(iso(after(Date.parse('2097-01-01T00:00:00Z')))).toBe('2104-02-29T00:00:00.000Z');
  });

  it('is the same plan with the same zone, even where that is the default', async () => {
    const planOf = async (...of: Parameters<typeof occurrencesOf>) => (await occurrencesOf(...of)).plan;
    const plan = await planOf('0 3 * * *');
    expect(await planOf('0 3 * * *', 'UTC')).toBe(plan);
    expect(await planOf('0 3 * * *', 'Europe/Berlin')).not.toBe(plan);
    expect(await planOf('0 3 1 * *')).not.toBe(plan);
  });

  it('is at the time of day in its zone, even where clocks were put forward', async () => {
    expect(await within(3, '2027-03-27T00:00:00Z', '0 3 * * *', 'Europe/Berlin')).toEqual([
      '2027-03-27T02:00:00.000Z',
      '2027-03-28T01:00:00.000Z',
      '2027-03-29T01:00:00.000Z',
    ]);
  });

  it('is at the end of the gap, when its time of day does not exist', async () => {
    expect(await within(3, '2027-03-27T00:00:00Z', '30 2 * * *', 'Europe/Berlin')).toEqual([
      '2027-03-27T01:30:00.000Z',
      '2027-03-28T01:00:00.000Z',
      '2027-03-29T00:30:00.000Z',
    ]);
  });

  it('is once, when its time of day is there twice', async () => {
    expect(await within(3, '2027-10-30T00:00:00Z', '30 2 * * *', 'Europe/Berlin')).toEqual([
      '2027-10-30T00:30:00.000Z',
      '2027-10-31T00:30:00.000Z',
      '2027-11-01T01:30:00.000Z',
    ]);
  });

  it.each([
    ['Europe/Berlin', '2027-03-27'],
    ['Europe/Berlin', '2027-10-30'],
    ['America/New_York', '2027-03-13'],
    ['America/New_York', '2027-11-06'],
    ['Australia/Lord_Howe', '2027-04-02'],
    ['Australia/Lord_Howe', '2027-10-01'],
    ['Asia/Kathmandu', '2027-01-01'],
  ])('is every hour, and every quarter, in %s around %s', async (tz, from) => {
    const clock = new Intl.DateTimeFormat('en', { timeZone: tz, minute: 'numeric' });
    const minutes = Array.from({ length: 3 * 24 * 60 }, (_, i) => Date.parse(from) + i * 60_000);
    const every = (n: number) =>
      minutes.filter((at) => Number(clock.format(at)) % n === 0).map((at) => iso(at));
    expect(await within(3, from, '0 * * * *', tz)).toEqual(every(60));
    expect(await within(3, from, '*/15 * * * *', tz)).toEqual(every(15));
  });

  // Local times of day with their UTC offsets. A day whose last hour is repeated has the next one with it.
  it.each([
    ['30 2,14 * * *', 'Europe/Berlin', '2027-03-28', 1, '03:00 GMT+2, 14:30 GMT+2'],
    ['30 2,14 * * *', 'Europe/Berlin', '2027-10-31', 1, '02:30 GMT+2, 14:30 GMT+1'],
    ['30 1-3 * * *', 'Europe/Berlin', '2027-03-28', 1, '01:30 GMT+1, 03:00 GMT+2, 03:30 GMT+2'],
    ['30 1-3 * * *', 'Europe/Berlin', '2027-10-31', 1, '01:30 GMT+2, 02:30 GMT+2, 03:30 GMT+1'],
    ['0,30 2 * * *', 'Europe/Berlin', '2027-03-28', 1, '03:00 GMT+2'],
    ['0,30 2 * * *', 'Europe/Berlin', '2027-10-31', 1, '02:00 GMT+2, 02:30 GMT+2'],
    ['0 2-4/2 * * *', 'Europe/Berlin', '2027-03-28', 1, '04:00 GMT+2'],
    ['0 2-4/2 * * *', 'Europe/Berlin', '2027-10-31', 1, '02:00 GMT+2, 02:00 GMT+1, 04:00 GMT+1'],
    ['*/30 2 * * *', 'Europe/Berlin', '2027-03-28', 1, ''],
    ['*/30 2 * * *', 'Europe/Berlin', '2027-10-31', 1, '02:00 GMT+2, 02:30 GMT+2, 02:00 GMT+1, 02:30 GMT+1'],
    ['30 1,2,14 * * *', 'America/New_York', '2027-03-14', 1, '01:30 GMT-5, 03:00 GMT-4, 14:30 GMT-4'],
    ['30 1,2,14 * * *', 'America/New_York', '2027-11-07', 1, '01:30 GMT-4, 02:30 GMT-5, 14:30 GMT-5'],
    ['0 1-3 * * *', 'America/New_York', '2027-03-14', 1, '01:00 GMT-5, 03:00 GMT-4'],
    ['0 1-3 * * *', 'America/New_York', '2027-11-07', 1, '01:00 GMT-4, 02:00 GMT-5, 03:00 GMT-5'],
    ['*/30 1-2 * * *', 'America/New_York', '2027-03-14', 1, '01:00 GMT-5, 01:30 GMT-5'],
    [
      '*/30 1-2 * * *',
      'America/New_York',
      '2027-11-07',
      1,
      '01:00 GMT-4, 01:30 GMT-4, 01:00 GMT-5, 01:30 GMT-5, 02:00 GMT-5, 02:30 GMT-5',
    ],
    ['15 2,14 * * *', 'Australia/Lord_Howe', '2027-10-03', 1, '02:30 GMT+11, 14:15 GMT+11'],
    ['15 2,14 * * *', 'Australia/Lord_Howe', '2027-04-04', 1, '02:15 GMT+10:30, 14:15 GMT+10:30'],
    ['45 1-2 * * *', 'Australia/Lord_Howe', '2027-10-03', 1, '01:45 GMT+10:30, 02:45 GMT+11'],
    ['45 1-2 * * *', 'Australia/Lord_Howe', '2027-04-04', 1, '01:45 GMT+11, 02:45 GMT+10:30'],
    [
      '*/15 1-2 * * *',
      'Australia/Lord_Howe',
      '2027-10-03',
      1,
      '01:00 GMT+10:30, 01:15 GMT+10:30, 01:30 GMT+10:30, 01:45 GMT+10:30, 02:30 GMT+11, 02:45 GMT+11',
    ],
    [
      '*/15 1-2 * * *',
      'Australia/Lord_Howe',
      '2027-04-04',
      1,
      '01:00 GMT+11, 01:15 GMT+11, 01:30 GMT+11, 01:45 GMT+11, 01:30 GMT+10:30, 01:45 GMT+10:30, 02:00 GMT+10:30, 02:15 GMT+10:30, 02:30 GMT+10:30, 02:45 GMT+10:30',
    ],
    ['30 0,12 * * *', 'America/Sao_Paulo', '2018-11-04', 1, '01:00 GMT-2, 12:30 GMT-2'],
    [
      '30 0,12 * * *',
      'America/Sao_Paulo',
      '2018-02-17',
      2,
      '00:30 GMT-2, 12:30 GMT-2, 00:30 GMT-3, 12:30 GMT-3',
    ],
    ['30 0-1,23 * * *', 'America/Sao_Paulo', '2018-11-04', 1, '01:00 GMT-2, 01:30 GMT-2, 23:30 GMT-2'],
    [
      '30 0-1,23 * * *',
      'America/Sao_Paulo',
      '2018-02-17',
      2,
      '00:30 GMT-2, 01:30 GMT-2, 23:30 GMT-2, 00:30 GMT-3, 01:30 GMT-3, 23:30 GMT-3',
    ],
    ['0 0-23/6 * * *', 'America/Sao_Paulo', '2018-11-04', 1, '06:00 GMT-2, 12:00 GMT-2, 18:00 GMT-2'],
    [
      '0 0-23/6 * * *',
      'America/Sao_Paulo',
      '2018-02-17',
      2,
      '00:00 GMT-2, 06:00 GMT-2, 12:00 GMT-2, 18:00 GMT-2, 00:00 GMT-3, 06:00 GMT-3, 12:00 GMT-3, 18:00 GMT-3',
    ],
    ['30 0,12 * * *', 'Africa/Cairo', '2027-04-30', 1, '01:00 GMT+3, 12:30 GMT+3'],
    ['30 0,12 * * *', 'Africa/Cairo', '2027-10-28', 2, '00:30 GMT+3, 12:30 GMT+3, 00:30 GMT+2, 12:30 GMT+2'],
    ['30 0-1,23 * * *', 'Africa/Cairo', '2027-04-30', 1, '01:00 GMT+3, 01:30 GMT+3, 23:30 GMT+3'],
    [
      '30 0-1,23 * * *',
      'Africa/Cairo',
      '2027-10-28',
      2,
      '00:30 GMT+3, 01:30 GMT+3, 23:30 GMT+3, 00:30 GMT+2, 01:30 GMT+2, 23:30 GMT+2',
    ],
    ['*/30 0,23 * * *', 'Africa/Cairo', '2027-04-30', 1, '23:00 GMT+3, 23:30 GMT+3'],
    [
      '*/30 0,23 * * *',
      'Africa/Cairo',
      '2027-10-28',
      2,
      '00:00 GMT+3, 00:30 GMT+3, 23:00 GMT+3, 23:30 GMT+3, 23:00 GMT+2, 23:30 GMT+2, 00:00 GMT+2, 00:30 GMT+2, 23:00 GMT+2, 23:30 GMT+2',
    ],
    ['30 0,12 * * *', 'Asia/Beirut', '2027-03-28', 1, '01:00 GMT+3, 12:30 GMT+3'],
    ['30 0,12 * * *', 'Asia/Beirut', '2027-10-30', 2, '00:30 GMT+3, 12:30 GMT+3, 00:30 GMT+2, 12:30 GMT+2'],
    ['30 0-1,23 * * *', 'Asia/Beirut', '2027-03-28', 1, '01:00 GMT+3, 01:30 GMT+3, 23:30 GMT+3'],
    [
      '30 0-1,23 * * *',
      'Asia/Beirut',
      '2027-10-30',
      2,
      '00:30 GMT+3, 01:30 GMT+3, 23:30 GMT+3, 00:30 GMT+2, 01:30 GMT+2, 23:30 GMT+2',
    ],
    ['30 0,12 * * *', 'America/Asuncion', '2023-10-01', 1, '01:00 GMT-3, 12:30 GMT-3'],
    [
      '30 0,12 * * *',
      'America/Asuncion',
      '2024-03-23',
      2,
      '00:30 GMT-3, 12:30 GMT-3, 00:30 GMT-4, 12:30 GMT-4',
    ],
    ['30 0-1,23 * * *', 'America/Asuncion', '2023-10-01', 1, '01:00 GMT-3, 01:30 GMT-3, 23:30 GMT-3'],
    [
      '30 0-1,23 * * *',
      'America/Asuncion',
      '2024-03-23',
      2,
      '00:30 GMT-3, 01:30 GMT-3, 23:30 GMT-3, 00:30 GMT-4, 01:30 GMT-4, 23:30 GMT-4',
    ],
    ['30 0,12 * * *', 'America/Santiago', '2027-09-05', 1, '01:00 GMT-3, 12:30 GMT-3'],
    [
      '30 0,12 * * *',
      'America/Santiago',
      '2027-04-03',
      2,
      '00:30 GMT-3, 12:30 GMT-3, 00:30 GMT-4, 12:30 GMT-4',
    ],
    ['30 0-1,23 * * *', 'America/Santiago', '2027-09-05', 1, '01:00 GMT-3, 01:30 GMT-3, 23:30 GMT-3'],
    [
      '30 0-1,23 * * *',
      'America/Santiago',
      '2027-04-03',
      2,
      '00:30 GMT-3, 01:30 GMT-3, 23:30 GMT-3, 00:30 GMT-4, 01:30 GMT-4, 23:30 GMT-4',
    ],
  ])('%s in %s from %s on for %i days comes at %s', async (plan, tz, day, count, expected) => {
    const parts = new Intl.DateTimeFormat('en-GB', {
      timeZone: tz,
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
      timeZoneName: 'shortOffset',
    });
    const isoDay = new Intl.DateTimeFormat('sv', { timeZone: tz });
    const start = Date.parse(day);
    const times = (await within(4, iso(start - DAY), plan, tz)).map((text) => new Date(text));
    const days = Array.from({ length: count }, (_, i) => iso(start + i * DAY).slice(0, 10));
    const there = times.filter((time) => days.includes(isoDay.format(time)));
    expect(there.map((time) => parts.format(time)).join(', ')).toBe(expected);
  });

  it.each<[string, unknown, string | undefined, RegExp]>([
    [
      'no cron expression',
      'at three',
      undefined,
      /is "at three": expected 5 fields, or 6 with seconds first/,
    ],
    ['one of years', '0 0 3 1 1 * 2099', undefined, /is "0 0 3 1 1 \* 2099": expected 5 fields, or 6/],
    ['an instant', '2099-01-01T00:00:00Z', undefined, /is "2099-01-01T00:00:00Z": expected 5 fields, or 6/],
    ['one out of range', '61 * * * *', undefined, /"61 \* \* \* \*", which cannot be used: .*minute/],
    [
      'one that never occurs',
      '0 0 30 2 *',
      undefined,
      /"0 0 30 2 \*", which cannot be used: it never occurs/,
    ],
    [
      'no plan',
      undefined,
      undefined,
      /its plan is undefined: expected a cron expression, or { name: a string/,
    ],
    ['a function without a name', () => undefined, undefined, /its plan is function .*or { name: a string/],
    [
      'a calendar without a name',
      { next: () => undefined },
      undefined,
      /name of its plan is undefined: expected/,
    ],
    [
      'a calendar of an empty name',
      { name: ' ', next: () => undefined },
      undefined,
      /name of its plan is " "/,
    ],
    ['a calendar that tells nothing', { name: 'x' }, undefined, /its plan is {"name":"x"}/],
    ['no zone', '0 3 * * *', 'Mars/Base', /`tz` is "Mars\/Base": expected a time zone such as/],
    ['an empty zone', '0 3 * * *', '', /`tz` is "": expected a time zone/],
    [
      'a zone along with a calendar',
      { name: 'x', next: () => undefined },
      'UTC',
      /`tz` is "UTC" with a calendar/,
    ],
  ])('is refused when it is %s', async (_what, plan, tz, message) => {
    const refusal = occurrencesOf(plan as RecurrencePlan, tz);
    await expect(refusal).rejects.toMatchObject({ code: 'DQ_CONFIG' });
    await expect(refusal).rejects.toThrow(message);
  });
});

describe('a calendar', () => {
  it('returns instants of any form, until there is none', async () => {
    const next = (from: Date) => (from.getTime() < 5 ? new Date(5) : undefined);
    const { after } = await occurrencesOf({ name: 'five', next });
    expect([after(4), after(5)]).toEqual([5, undefined]);
  });

  it('is a plan by its name: closures of one source, over other values, are not the same', async () => {
    const every = (hours: number) =>
      occurrencesOf({ name: `every ${hours} h`, next: (from) => from.getTime() + hours * 3_600_000 });
    const { plan } = await every(1);
    expect((await every(1)).plan).toBe(plan);
    expect((await every(2)).plan).not.toBe(plan);
  });

  it.each<[string, RecurrenceCalendar['next'], RegExp]>([
    ['that stands still', (from) => from, /the plan returned .* expected a later instant/],
    ['that tells no instant', () => 'tomorrow' as unknown as Date, /the time is "tomorrow"/],
    [
      'that throws',
      () => {
        throw new Error('no calendar');
      },
      /DQ_BAD_OPTION: the plan failed: no calendar/,
    ],
  ])('%s is refused', async (_that, next, message) => {
    const { after } = await occurrencesOf({ name: 'wrong', next });
    expect(() => after(1_900_000_000_000)).toThrow(message);
  });
});

it('says what to install when a cron expression needs a missing package', async () => {
  jest.unstable_mockModule('croner', () => {
    throw new Error("Cannot find package 'croner'");
  });
  jest.resetModules();
  const { occurrencesOf: without } = await import('./occurrences.js');
  await expect(without('0 3 * * *')).rejects.toThrow(/DQ_CONFIG: .* needs the package croner.*npm install/);
  const { after } = await without({ name: 'five', next: () => new Date(5) });
  expect(after(0)).toBe(5);
});
