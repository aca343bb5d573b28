import { expect, it } from '@jest/globals';
import { StreamHistory } from './history.js';
import type { Start } from './log.js';
import { longestGap } from './measures.js';

const start = (run: string, at: number): Start => {
  const message = { message: 0, key: 'k', number: 0, partition: 0, offset: 0 };
  return { what: 'start', run, process: 'p', attempt: 1, at, ...message };
};

it('measures the longest time between two starts, in whatever order the logs are read', () => {
  expect(longestGap(StreamHistory.of([start('a', 1_000), start('b', 4_500), start('c', 2_000)]))).toBe(2_500);
  expect(longestGap(StreamHistory.of([start('a', 1_000)]))).toBe(0);
  expect(longestGap(StreamHistory.of([]))).toBe(0);
});

it('measures up to the ends of a given time, also if nothing starts in it', () => {
  const history = StreamHistory.of([start('a', 1_000), start('b', 2_000), start('c', 9_000)]);
  expect(longestGap(history, 500)).toBe(7_000);
  expect(longestGap(history, 500, 5_000)).toBe(3_000);
  expect(longestGap(history, 2_500, 8_500)).toBe(6_000);
  expect(longestGap(history, 9_500)).toBe(0);
});
