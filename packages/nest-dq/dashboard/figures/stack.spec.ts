import { describe, expect, it } from '@jest/globals';
import { stackOf } from './stack.js';

describe('stackOf', () => {
  it('puts the largest first, leaves out the empty, and adds up the rest', () => {
    const tubes = [
      { tube: 'none', counts: [0, 0] },
      { tube: 'b', counts: [1, 1] },
      { tube: 'a', counts: [2, 0] },
      { tube: 'large', counts: [9, 0] },
      { tube: 'small', counts: [0, 1] },
    ];
    expect(stackOf(tubes, 2)).toEqual({ tubes: [tubes[3], tubes[2]], rest: [1, 2] });
    expect(stackOf(tubes, 4)).toEqual({ tubes: [tubes[3], tubes[2], tubes[1], tubes[4]] });
  });
});
