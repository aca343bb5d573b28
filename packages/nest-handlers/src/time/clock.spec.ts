import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { systemClock } from './clock.js';

const DAY = 86_400_000;

describe('systemClock.after', () => {
  afterEach(() => {
    jest.useRealTimers();
  });

  it('takes delays that setTimeout cannot', () => {
    jest.useFakeTimers();
    const called = jest.fn();
    systemClock.after(60 * DAY, called);
    jest.advanceTimersByTime(60 * DAY - 1);
    expect(called).not.toHaveBeenCalled();
    jest.advanceTimersByTime(1);
    expect(called).toHaveBeenCalledTimes(1);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('never calls back for an endless delay', () => {
    jest.useFakeTimers();
    const called = jest.fn();
    const timer = systemClock.after(Infinity, called);
    jest.advanceTimersByTime(200 * DAY);
    expect(called).not.toHaveBeenCalled();
    timer.cancel();
    expect(jest.getTimerCount()).toBe(0);
  });

  it('is cancelled for good, in the middle of a long delay too', () => {
    jest.useFakeTimers();
    const called = jest.fn();
    const timer = systemClock.after(60 * DAY, called);
    jest.advanceTimersByTime(40 * DAY);
    timer.cancel();
    timer.cancel();
    jest.advanceTimersByTime(40 * DAY);
    expect(called).not.toHaveBeenCalled();
    expect(jest.getTimerCount()).toBe(0);
  });

  it('is not early by its own clock, although setTimeout is', async () => {
    const early = await Promise.all(
      Array.from({ length: 500 }, (_, i) => {
        const delay = 1 + (i % 40) / 4;
        const start = systemClock.now();
        return new Promise<boolean>((resolve) => {
          systemClock.after(delay, () => resolve(systemClock.now() - start < delay));
        });
      }),
    );
    expect(early.filter(Boolean)).toEqual([]);
  });

  it('calls back at once for a time in the past', async () => {
    await new Promise<void>((resolve) => systemClock.after(-5, resolve));
  });
});

describe('systemClock', () => {
  it('has the wall clock, and a clock that only grows', () => {
    expect(Math.abs(systemClock.wall() - Date.now())).toBeLessThan(1_000);
    const first = systemClock.now();
    expect(systemClock.now()).toBeGreaterThanOrEqual(first);
  });

  it('calls back soon, but never within the call', async () => {
    const order: string[] = [];
    await new Promise<void>((resolve) => {
      systemClock.soon(() => {
        order.push('soon');
        resolve();
      });
      order.push('after the call');
    });
    expect(order).toEqual(['after the call', 'soon']);
  });
});
