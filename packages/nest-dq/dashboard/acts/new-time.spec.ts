import { describe, expect, it } from '@jest/globals';
import { readDuration } from 'nest-handlers/time';
import { durationMs, newTimeOf, type NewTimeEntry, type NewTimeKind } from './new-time.js';

const NOW = Date.parse('2026-11-28T10:00:00Z');

describe('a new time', () => {
  it.each<[NewTimeKind, string, NewTimeEntry]>([
    ['delay', ' 90m ', { when: { delay: '90m' } }],
    ['later', '2 hours', { when: { later: '2 hours' } }],
    ['earlier', '1.5h', { when: { earlier: '1.5h' } }],
    ['spread', '30m', { when: { spread: '30m' } }],
    ['spread', '0 min', { problem: 'move.noDuration' }],
    ['delay', '', {}],
    ['delay', 'tomorrow 9am', { problem: 'move.noDuration' }],
    ['later', '90', { problem: 'move.noDuration' }],
    ['later', '1M', { problem: 'move.noDuration' }],
    ['at', '', {}],
    ['at', '2019-12-24T18:00', { problem: 'move.past' }],
  ])('%s %j', (kind, text, entry) => {
    expect(newTimeOf(kind, text, NOW)).toEqual(entry);
  });

  it('may be now, and later', () => {
    const field = (at: number) =>
      new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
    expect(newTimeOf('at', field(NOW), NOW)).toEqual({ when: { at: new Date(NOW).toISOString() } });
    expect(newTimeOf('at', field(NOW - 5_000), NOW)).toEqual({ problem: 'move.past' });
  });

  it.each([
    '30s',
    '1.5 Hours',
    '2w',
    '5 m',
    '10msec',
    '1M',
    '3x',
    's',
    '1 month',
    '-5m',
    '5  m',
    '9am',
    '1h30m',
    '1 day 12h',
    '30m1h',
    '1h1h',
    '1h2M',
  ])('takes the duration %j if the server does', (text) => {
    const isTaken = newTimeOf('delay', text, NOW).when !== undefined;
    expect(isTaken).toBe(typeof readDuration(text) === 'number');
    if (isTaken) expect(durationMs(text)).toBe(readDuration(text));
  });
});
