import { describe, expect, it } from '@jest/globals';
import { bulkFilterOf } from './filters.js';
import { newTimeOf } from './new-time.js';

const NOW = '2026-05-05T12:00:00.000Z';
const EARLIER = '2026-05-05T11:00:00.000Z';
const LATER = '2026-05-05T13:00:00.000Z';

describe('bulkFilterOf', () => {
  it('means all jobs where the page shows all', () => {
    expect(bulkFilterOf({}, NOW)).toEqual({});
    expect(bulkFilterOf({ from: EARLIER, to: LATER }, NOW)).toEqual({ dueFrom: EARLIER, dueTo: LATER });
  });

  it('means what the page shows as waiting, due and retrying', () => {
    expect(bulkFilterOf({ state: 'waiting' }, NOW)).toEqual({ state: 'waiting', dueFrom: NOW });
    expect(bulkFilterOf({ state: 'due' }, NOW)).toEqual({ state: 'waiting', dueTo: NOW });
    expect(bulkFilterOf({ state: 'retrying', to: LATER }, NOW)).toEqual({ state: 'retrying', dueTo: LATER });
  });

  it('never means more than the range of the page', () => {
    expect(bulkFilterOf({ state: 'waiting', from: LATER }, NOW)).toMatchObject({ dueFrom: LATER });
    expect(bulkFilterOf({ state: 'waiting', from: EARLIER }, NOW)).toMatchObject({ dueFrom: NOW });
    expect(bulkFilterOf({ state: 'due', to: EARLIER }, NOW)).toMatchObject({ dueTo: EARLIER });
    expect(bulkFilterOf({ state: 'due', to: LATER }, NOW)).toMatchObject({ dueTo: NOW });
  });
});

describe('newTimeOf', () => {
  it('takes a time in the field as an instant, and any other string as a duration for the server', () => {
    expect(newTimeOf('at', '2026-05-05T12:00')).toEqual({ at: new Date('2026-05-05T12:00').toISOString() });
    expect(newTimeOf('at', '')).toBeUndefined();
    expect(newTimeOf('delay', ' 90m ')).toEqual({ delay: '90m' });
    expect(newTimeOf('later', '1h')).toEqual({ later: '1h' });
    expect(newTimeOf('earlier', '1h')).toEqual({ earlier: '1h' });
    expect(newTimeOf('delay', ' ')).toBeUndefined();
  });
});
