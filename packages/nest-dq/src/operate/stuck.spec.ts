import { expect, it } from '@jest/globals';
import { isProbablyStuck } from './stuck.js';

it('a run stands out that takes ten times as long as others, and more than ten seconds', () => {
  expect(isProbablyStuck(10_000, 2)).toBe(false);
  expect(isProbablyStuck(10_001, 2)).toBe(true);
  expect(isProbablyStuck(60_000, 6_000)).toBe(false);
  expect(isProbablyStuck(60_001, 6_000)).toBe(true);
});
