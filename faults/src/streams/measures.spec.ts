import { expect, it } from '@jest/globals';
import { StreamHistory } from './history.js';
import type { Push, Start } from './log.js';
import { longestGap, longestWait } from './measures.js';

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

it('measures how long what is stored waits for a start in its partition, not how long nothing was stored', () => {
  const push = (message: number, partition: number, at: number): Push => {
    const place = { partition, offset: message };
    return { what: 'push', message, key: 'k', number: 0, askedAt: 0, answer: 'stored', at, ...place };
  };
  const early = { ...start('a', 1_000), message: 3 };
  const late = { ...start('b', 9_000), message: 2 };
  const other = { ...start('c', 5_500), message: 1, partition: 1 };
  const begunBefore = push(3, 0, 1_001);
  const lines = [early, late, other, push(0, 0, 8_800), push(1, 1, 5_000), begunBefore];
  expect(longestWait(StreamHistory.of(lines), 1_000, 10_000)).toBe(500);
  expect(longestWait(StreamHistory.of([...lines, push(2, 0, 3_000)]), 1_000, 10_000)).toBe(6_000);
  expect(longestWait(StreamHistory.of([...lines, push(2, 0, 3_000)]), 1_000, 7_000)).toBe(4_000);
});
