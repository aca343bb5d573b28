import { beforeEach, describe, expect, it } from '@jest/globals';
import { VirtualClock } from 'nest-handlers/testing';
import { ReserveBudget } from './reserve-budget.js';

describe('ReserveBudget', () => {
  let clock: VirtualClock;
  let budget: ReserveBudget;

  beforeEach(() => {
    clock = new VirtualClock();
    budget = new ReserveBudget(clock, 10);
  });

  const within = (ms: number, freeSlots: number) => {
    budget.handling = 10 - freeSlots;
    return budget.within(ms);
  };
  const end = (count: number, took = 0) => {
    for (let i = 0; i < count; i++) budget.ended(took);
  };
  const window = (freeSlots: number) => within(40, freeSlots);
  const left = (freeSlots: number, waiting: number, asked: number) => {
    budget.handling = 10 - freeSlots;
    return budget.left(waiting, asked);
  };

  it('lets as many be due and waiting as there are slots, while nothing was completed', () => {
    expect(window(1)).toBe(10);
    expect(left(10, 0, 0)).toBe(20);
  });

  it('grows by what 40 ms need, as fast as the last 100 ms were, and shrinks again as those pass', async () => {
    end(5);
    await clock.advance(50);
    end(10);
    expect(window(1)).toBe(16);
    await clock.advance(40);
    expect(window(1)).toBe(16);
    await clock.advance(10);
    expect(window(1)).toBe(14);
    await clock.advance(49);
    expect(window(1)).toBe(14);
    await clock.advance(1);
    expect(window(1)).toBe(10);
  });

  it('asks for many at once where there is enough for all slots', () => {
    end(75);
    expect(window(0)).toBe(40);
    expect(left(0, 9, 0)).toBe(31);
    expect(left(0, 5, 15)).toBe(20);
    expect(left(0, 21, 0)).toBe(0);
    expect(left(0, 10, 11)).toBe(0);
    expect(left(2, 10, 11)).toBe(21);
  });

  it('forgets everything in a pause of any length', async () => {
    end(5);
    await clock.advance(123_456);
    expect(window(1)).toBe(10);
    end(1);
    expect(window(1)).toBe(11);
  });

  it('lets as many stay as will have a slot in a while, as fast as the last ones had theirs', async () => {
    end(12);
    expect(within(250, 1)).toBe(10 + 30);
    await clock.advance(1_000);
    expect(within(250, 0)).toBe(0);
    expect(within(250, 1)).toBe(10);
  });

  it('counts free slots, what waits, and reserves that are out', () => {
    expect(left(3, 4, 5)).toBe(10 + 3 - 4 - 5);
  });

  it('says none, and not a negative room as something, when more waits than may', () => {
    expect(left(0, 10, 0)).toBe(0);
    expect(left(0, 12, 4)).toBeLessThanOrEqual(0);
  });

  it('lets nothing wait once all slots were taken for a second and no handler ended', async () => {
    expect(left(1, 0, 0)).toBe(11);
    await clock.advance(999);
    expect(left(0, 0, 0)).toBe(10);
    await clock.advance(1);
    expect(left(0, 0, 0)).toBe(0);
    expect(window(0)).toBe(0);
  });

  it('lets jobs wait again from the moment a handler ends', async () => {
    window(1);
    await clock.advance(60_000);
    expect(window(0)).toBe(0);
    end(1);
    expect(window(0)).toBe(11);
    await clock.advance(1_000);
    expect(window(0)).toBe(0);
  });

  describe('lets as many be early as its handlers can run in a second', () => {
    it('and any number while none has ended', () => {
      expect(budget.mostEarly).toBe(Infinity);
      end(1, 200);
      expect(budget.mostEarly).toBe(10 + 50);
    });

    it('and any number while they take no time', () => {
      end(1_000);
      expect(budget.mostEarly).toBe(Infinity);
    });

    it('by the average of the last ones, whenever those were', async () => {
      end(1, 100);
      end(1, 300);
      expect(budget.mostEarly).toBe(10 + 50);
      await clock.advance(3_600_000);
      expect(budget.mostEarly).toBe(10 + 50);
      end(1_000, 50);
      expect(budget.mostEarly).toBeCloseTo(10 + 200, 0);
    });
  });
});
