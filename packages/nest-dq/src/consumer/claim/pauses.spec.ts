import { describe, expect, it } from '@jest/globals';
import { busyPause, leasePause } from './claim-queue.js';

const SETTINGS = { backupDelay: 2_000, lease: 14_500 };

describe('busyPause', () => {
  it.each([
    [0, 0, 1],
    [-5, 0, 1],
    [1_001, 0, 2],
    [14_999, 600_000, 15],
  ])(
    'a primary is released for the rest of the lease, %i ms, and at least a second',
    (ms, ranFor, seconds) => {
      expect(busyPause(0, { kind: 'busy', ms, ranFor }, SETTINGS)).toBe(seconds);
    },
  );

  it.each([
    [5_000, 1_000, 1, 7],
    [5_000, 1_000, 2, 9],
    [5_000, 30_001, 1, 31],
    [5_000, 600_000, 1, 60],
    [90_000, 0, 1, 60],
  ])('with %i ms left after %i ms, backup %i is released for %i s', (ms, ranFor, index, seconds) => {
    expect(busyPause(index, { kind: 'busy', ms, ranFor }, SETTINGS)).toBe(seconds);
  });
});

describe('leasePause', () => {
  it('is a whole lease, and the stagger of the copy', () => {
    expect([leasePause(0, SETTINGS), leasePause(2, SETTINGS)]).toEqual([15, 19]);
  });
});
