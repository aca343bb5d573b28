import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Clock } from 'nest-handlers/time';
import { NoAnswer, withinLimit } from './call-limit.js';

describe('withinLimit', () => {
  let after: (() => void)[];
  let soon: (() => void)[];
  let cancelled: number;
  let limits: number[];
  let clock: Clock;

  beforeEach(() => {
    [after, soon, limits, cancelled] = [[], [], [], 0];
    clock = {
      wall: () => 0,
      now: () => 0,
      after: (limit, callback) => {
        limits.push(limit);
        after.push(callback);
        return { cancel: () => void cancelled++ };
      },
      next: () => undefined,
      soon: (callback) => void soon.push(callback),
    };
  });

  it('returns the answer, and leaves no timer', async () => {
    await expect(withinLimit(clock, 1_000, Promise.resolve('answer'))).resolves.toBe('answer');
    await Promise.resolve();
    expect(limits).toEqual([1_000]);
    expect(cancelled).toBe(1);
  });

  it('passes a failure on', async () => {
    const failure = new Error('refused');
    await expect(withinLimit(clock, 1_000, Promise.reject(failure))).rejects.toBe(failure);
  });

  it('fails without an answer, but only once all buffered input was read', async () => {
    let settled = false;
    const limited = withinLimit(clock, 1_000, new Promise<never>(() => undefined));
    limited.catch(() => undefined).finally(() => (settled = true));
    after[0]!();
    await new Promise((resolve) => setImmediate(resolve));
    expect(settled).toBe(false);
    soon[0]!();
    await expect(limited).rejects.toThrow(NoAnswer);
    await expect(limited).rejects.toThrow('no answer within 1000 ms');
  });

  it('takes an answer that waited in the socket while the event loop was blocked', async () => {
    let answer!: (value: string) => void;
    const limited = withinLimit(clock, 1_000, new Promise<string>((resolve) => (answer = resolve)));
    after[0]!();
    answer('late');
    await Promise.resolve();
    soon[0]!();
    await expect(limited).resolves.toBe('late');
  });
});
