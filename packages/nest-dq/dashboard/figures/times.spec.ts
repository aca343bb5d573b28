import { afterEach, describe, expect, it } from '@jest/globals';
import { fieldText, fromField, markText, offsetAt, timeText } from './times.js';
import { zone } from './zone.js';

const local = (...parts: [number, number, number, number, number, number]) => new Date(...parts).getTime();

describe('timeText', () => {
  it('has as much of the date as it needs', () => {
    const now = local(2026, 4, 5, 12, 0, 0);
    expect(timeText(local(2026, 4, 5, 9, 3, 7), now, 'en')).toBe('09:03:07');
    expect(timeText(local(2026, 4, 5, 23, 59, 59), now, 'en')).toBe('23:59:59');
    expect(timeText(local(2026, 4, 6, 0, 0, 0), now, 'en')).toBe('May 6, 00:00:00');
    expect(timeText(local(2026, 4, 4, 23, 59, 59), now, 'en')).toBe('May 4, 23:59:59');
    expect(timeText(local(2026, 4, 7, 9, 3, 7), now, 'en')).toBe('May 7, 09:03:07');
    expect(timeText(local(2027, 0, 7, 9, 3, 7), now, 'en')).toBe('Jan 7, 2027, 09:03:07');
  });
});

describe('markText', () => {
  it('has seconds only among seconds, and the date at midnight', () => {
    expect(markText(local(2026, 4, 5, 9, 3, 0), 60_000, 'en')).toBe('09:03');
    expect(markText(local(2026, 4, 5, 9, 3, 0), 10_000, 'en')).toBe('09:03:00');
    expect(markText(local(2026, 4, 5, 0, 0, 0), 3_600_000, 'en')).toBe('May 5');
  });
});

describe('a field for times', () => {
  it('gives back the time that it was given, to a second', () => {
    const iso = '2026-05-05T07:08:09.000Z';
    expect(fromField(fieldText(iso))).toBe(iso);
    expect(fromField('')).toBeUndefined();
    expect(fieldText(undefined)).toBe('');
    expect(fieldText('no time')).toBe('');
  });
});

describe('in UTC', () => {
  afterEach(() => {
    zone.value = 'browser';
  });

  it('all times are by that clock, and so are the fields', () => {
    zone.value = 'utc';
    const at = Date.UTC(2026, 4, 5, 23, 30, 0);
    expect(offsetAt(at)).toBe(0);
    expect(timeText(at, Date.UTC(2026, 4, 5), 'en')).toBe('23:30:00');
    expect(timeText(at, Date.UTC(2026, 4, 6), 'en')).toBe('May 5, 23:30:00');
    expect(markText(Date.UTC(2026, 4, 5), 3_600_000, 'en')).toBe('May 5');
    expect(fieldText('2026-05-05T23:30:00.000Z')).toBe('2026-05-05T23:30:00');
    expect(fromField('2026-05-05T23:30')).toBe('2026-05-05T23:30:00.000Z');
    expect(fromField('')).toBeUndefined();
  });
});
