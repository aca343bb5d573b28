import { describe, expect, it } from '@jest/globals';
import { didYouMean, nearest } from './nearest.js';

const NAMES = ['stats', 'top', 'dead list', 'dead show', 'processes', 'order.cancel'];

describe('the names that were meant', () => {
  it.each([
    ['a letter is wrong', 'statz', ['stats']],
    ['two letters are swapped', 'satts', ['stats']],
    ['a letter is missing', 'order.cancl', ['order.cancel']],
    ['it is the beginning', 'proc', ['processes']],
    ['several are similar', 'dead shot', ['dead show', 'dead list']],
    ['none is similar', 'nosuch.tube', []],
    ['it is one letter', 'x', []],
  ])('are found if %s', (_case, given, names) => expect(nearest(given, NAMES)).toEqual(names));

  it('are a question', () => {
    expect(didYouMean([])).toBe('');
    expect(didYouMean(['stats'])).toBe(' Did you mean stats?');
    expect(didYouMean(['a', 'b', 'c'])).toBe(' Did you mean a, b or c?');
  });
});
