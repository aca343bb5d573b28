import { describe, expect, it } from '@jest/globals';
import { DeletedCopies } from './deleted-copies.js';

const [here, there] = [1, 2].map((of) => ({ instance: `i${of}`, logStopped: false }));

describe('DeletedCopies', () => {
  const first = { index: 0, node: here!, instance: 'i1' };
  const second = { index: 1, node: there!, instance: 'i2' };

  it('are in the order in which they were deleted', () => {
    expect(new DeletedCopies().with(second).with(first).copies).toEqual([second, first]);
  });

  it('are one object for jobs whose copies were deleted alike', () => {
    const none = new DeletedCopies();
    expect(none.with({ ...first }).with({ ...second })).toBe(none.with(first).with(second));
    expect(none.copies).toEqual([]);
  });

  it.each([
    ['copy', { index: 2 }],
    ['node', { node: there! }],
    ['instance', { instance: 'i3' }],
  ])('are another one for another %s', (_what, other) => {
    const one = new DeletedCopies().with(first);
    expect(one.with({ ...second, node: here!, ...other })).not.toBe(one.with({ ...second, node: here! }));
    expect(one.with({ ...second, node: here!, ...other }).copies[1]).toMatchObject(other);
  });
});
