import { describe, expect, it } from '@jest/globals';
import { bulkFilterOf } from './filters.js';

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
