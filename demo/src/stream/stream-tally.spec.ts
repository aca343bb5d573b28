import { describe, expect, it } from '@jest/globals';
import { isCleanStream, streamTally, type StreamEntry } from './stream-tally.js';

const stored = (nr: number, customer = 'ann'): StreamEntry => ({ what: 'stored', customer, nr });
const run = (what: 'started' | 'failed' | 'succeeded', nr: number, at: number, customer = 'ann') => {
  return { what, customer, nr, at } satisfies StreamEntry;
};
/** A run that succeeds. */
const handled = (nr: number, at: number, customer = 'ann') => [
  run('started', nr, at, customer),
  run('succeeded', nr, at + 1, customer),
];

describe('streamTally', () => {
  it.each<[string, StreamEntry[], object]>([
    [
      'each order is handled in its turn',
      [stored(1), stored(2), ...handled(1, 10), ...handled(2, 20)],
      { stored: 2, handled: 2, again: 0 },
    ],
    [
      'a run that failed is followed by one that succeeds',
      [stored(1), stored(2), run('started', 1, 1), run('failed', 1, 2), ...handled(1, 10), ...handled(2, 20)],
      { handled: 2, failed: 1 },
    ],
    [
      'a run that a kill ended is followed by another',
      [stored(1), run('started', 1, 1), ...handled(1, 10)],
      { handled: 1, again: 0 },
    ],
    [
      'orders come again in their turn, as nobody had confirmed them',
      [stored(1), stored(2), ...[1, 2, 1, 2].flatMap((nr, index) => handled(nr, 10 * index))],
      { handled: 2, again: 2 },
    ],
    [
      'processes report their runs too late',
      [stored(1), stored(2), ...handled(2, 20), ...handled(1, 10)],
      { handled: 2 },
    ],
    [
      'another customer does not wait',
      [stored(1), stored(1, 'bob'), run('started', 1, 1), ...handled(1, 10, 'bob'), run('succeeded', 1, 20)],
      { handled: 2 },
    ],
  ])('is clean when %s', (_fact, log, counts) => {
    const tally = streamTally(log);
    expect(tally).toMatchObject({ lost: 0, outOfOrder: 0, ...counts });
    expect(isCleanStream(tally)).toBe(true);
  });

  it.each<[string, StreamEntry[], object]>([
    ['an order was never handled', [stored(1)], { lost: 1 }],
    ['its only run failed', [stored(1), run('started', 1, 1), run('failed', 1, 2)], { lost: 1 }],
    ['its only run never ended', [stored(1), run('started', 1, 1)], { lost: 1 }],
    [
      'an order was left out',
      [stored(1), stored(2), ...handled(2, 10), ...handled(1, 20)],
      { outOfOrder: 1, lost: 1 },
    ],
    [
      'an order began while the one before still ran',
      [
        stored(1),
        stored(2),
        run('started', 1, 1),
        run('started', 2, 2),
        run('succeeded', 1, 3),
        run('succeeded', 2, 4),
      ],
      { outOfOrder: 1, lost: 0 },
    ],
  ])('is not clean when %s', (_fact, log, counts) => {
    const tally = streamTally(log);
    expect(tally).toMatchObject(counts);
    expect(isCleanStream(tally)).toBe(false);
  });
});
