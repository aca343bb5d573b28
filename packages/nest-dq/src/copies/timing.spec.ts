import { describe, expect, it } from '@jest/globals';
import { LONGEST_DELAY_S, copyDelay, copyPriority, stagger } from './timing.js';

const MOST = 2 ** 32 - 1;
const BASE = Date.UTC(2030, 0, 1);
const ROUNDING = 1e-3;

/** From milliseconds to thirty years. */
const anyMs = (): number => Math.random() * 10 ** (1 + Math.random() * 11);

describe('copyDelay', () => {
  it.each([
    [0, 0],
    [24, 0],
    [1_024, 0],
    [1_025, 1],
    [10_000, 9],
    [-5_000, 0],
  ])('floors the primary: due in %d ms, it surfaces after %d s', (ms, seconds) => {
    expect(copyDelay(0, ms, 2_000)).toBe(seconds);
  });

  it.each([
    [0, 2],
    [250, 2],
    [251, 3],
    [1_250, 3],
    [1_251, 4],
    [-5_000, 2],
  ])('ceils a backup: due in %d ms, it surfaces after %d s', (ms, seconds) => {
    expect(copyDelay(1, ms, 2_000)).toBe(seconds);
    expect(copyDelay(2, ms, 2_000)).toBe(seconds + 2);
  });

  it('lets the primary surface up to a second and 25 ms early, and never late', () => {
    const wrong: number[] = [];
    for (let i = 0; i < 20_000; i++) {
      const ms = anyMs();
      const early = ms - copyDelay(0, ms, 2_000) * 1000;
      if (early >= 1_025 + ROUNDING || early < Math.min(25, ms) - ROUNDING) wrong.push(ms);
    }
    expect(wrong).toEqual([]);
  });

  it('lets no backup surface early, nor later than its stagger and three quarters of a second', () => {
    const wrong: [ms: number, index: number, backupDelay: number][] = [];
    for (let i = 0; i < 20_000; i++) {
      const ms = anyMs();
      const backupDelay = 1_000 + Math.floor(Math.random() * 5_000);
      const index = 1 + Math.floor(Math.random() * 5);
      const late = copyDelay(index, ms, backupDelay) * 1000 - ms;
      if (late <= 0 || late > stagger(index, backupDelay) * 1000 + 750 + ROUNDING) {
        wrong.push([ms, index, backupDelay]);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('is a whole number of 32 bits, whatever it is asked', () => {
    expect(LONGEST_DELAY_S).toBe(MOST);
    for (const index of [0, 1, 30]) {
      for (const ms of [-1e15, -1, 0, 0.5, MOST * 1000, 1e15]) {
        const delay = copyDelay(index, ms, 2_000);
        expect(Number.isInteger(delay) && delay >= 0 && delay <= MOST).toBe(true);
      }
    }
  });
});

describe('stagger', () => {
  it('is whole seconds, rounded up, for each copy before it', () => {
    expect([0, 1, 2].map((index) => stagger(index, 2_000))).toEqual([0, 2, 4]);
    expect([0, 1, 2].map((index) => stagger(index, 1_001))).toEqual([0, 2, 4]);
  });
});

describe('copyPriority', () => {
  it('puts the user’s priority before the due time', () => {
    const farFuture = Date.UTC(2200, 0, 1);
    expect(copyPriority(0, farFuture, 30)).toBeLessThan(copyPriority(1, 0, 0));
    expect(copyPriority(1, farFuture, 30)).toBeLessThan(copyPriority(2, 0, 0));
  });

  it('then puts the earlier due time first', () => {
    expect(copyPriority(1, BASE, 0)).toBeLessThan(copyPriority(1, BASE + 1_000, 0));
    expect(copyPriority(1, BASE, 1)).toBeLessThan(copyPriority(1, BASE + 1_000, 1));
    expect(copyPriority(1, BASE, 0)).toBe(copyPriority(1, BASE + 999, 0));
  });

  it('delays a backup by 60 s, whichever it is', () => {
    expect(copyPriority(1, BASE, 1) - copyPriority(1, BASE, 0)).toBe(60);
    expect(copyPriority(1, BASE, 2)).toBe(copyPriority(1, BASE, 1));
    expect(copyPriority(1, BASE, 1)).toBe(copyPriority(1, BASE + 60_000, 0));
  });

  it('is a whole number of 32 bits, from 1970 to the end of time', () => {
    for (const priority of [0, 1, 2]) {
      for (const due of [0, Date.UTC(2020, 0, 1), BASE, Date.UTC(2054, 0, 11), 8.64e15]) {
        for (const index of [0, 1, 30]) {
          const value = copyPriority(priority, due, index);
          expect(Number.isInteger(value) && value >= 0 && value <= MOST).toBe(true);
          expect(Math.floor(value / 2 ** 30)).toBe(priority);
        }
      }
    }
  });
});
