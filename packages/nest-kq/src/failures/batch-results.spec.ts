import { describe, expect, it } from '@jest/globals';
import { Discard, Retry } from '../api/outcome.js';
import { batchResults } from './batch-results.js';

const slip = new Error('slip');
const again = Retry.after(5);

describe('batchResults', () => {
  it.each<[unknown, readonly unknown[]]>([
    [undefined, [undefined, undefined]],
    [{ done: true }, [undefined, undefined]],
    [again, [{ thrown: again }, { thrown: again }]],
    [
      [undefined, slip],
      [undefined, { thrown: slip }],
    ],
    [
      [again, { id: 1 }],
      [{ thrown: again }, undefined],
    ],
    [
      [1, 2, 3],
      [undefined, undefined],
    ],
    [[], [undefined, undefined]],
    [
      [
        { status: 'fulfilled', value: again },
        { status: 'rejected', reason: 'why' },
      ],
      [{ thrown: again }, { thrown: 'why' }],
    ],
    [
      [
        { status: 'rejected', reason: 'no stock', id: 1 },
        { status: 'rejected', reason: 'no stock', id: 2 },
      ],
      [undefined, undefined],
    ],
  ])('reads %p', (returned, results) => {
    expect(batchResults(returned, 2)).toEqual(results);
  });

  it('understands the results of Promise.allSettled', async () => {
    const returned = await Promise.allSettled([Promise.resolve(5), Promise.reject(slip)]);
    expect(batchResults(returned, 2)).toEqual([undefined, { thrown: slip }]);
  });

  it('treats all as failed where it is unclear which', () => {
    const discard = Discard.because('gone');
    const [first, second] = batchResults([discard], 2);
    expect(first).toMatchObject({
      thrown: {
        message: 'KQ_BAD_OPTION: the handler returned 1 results: expected one for each of 2 messages',
      },
    });
    expect(second).toEqual(first);
  });
});
