import { describe, expect, it } from '@jest/globals';
import { resolveKeepDone } from './keep-done.js';

const WEEK = 7 * 86_400_000;
const MODULE = { period: 60_000, max: 5, result: false };

describe('the option keepDone', () => {
  it('keeps nothing unless it is given', () => {
    expect(resolveKeepDone(undefined, undefined)).toBeUndefined();
    expect(resolveKeepDone(false, MODULE)).toBeUndefined();
  });

  it('has defaults of its own, and falls back to the module', () => {
    expect(resolveKeepDone({}, undefined)).toEqual({ period: WEEK, max: 10_000, result: true });
    expect(resolveKeepDone(undefined, MODULE)).toBe(MODULE);
    expect(resolveKeepDone({ max: 7, for: undefined }, MODULE)).toEqual({ ...MODULE, max: 7 });
    expect(resolveKeepDone({ for: '2h', result: true }, MODULE)).toEqual({
      period: 7_200_000,
      max: 5,
      result: true,
    });
  });

  it.each([
    [true, "`keepDone` is true: expected an object such as { for: '7d', max: 10_000 }, or false"],
    [[], '`keepDone` is []: expected an object'],
    ['7d', '`keepDone` is "7d": expected an object'],
    [{ for: '59s' }, '`keepDone.for` is "59s": expected 60000 ms or more'],
    [{ for: '7' }, '`keepDone.for` is "7": no unit'],
    [{ max: 0 }, '`keepDone.max` is 0: expected 1 to 1000000 (the maximum)'],
    [{ max: 1_000_001 }, '`keepDone.max` is 1000001: expected 1 to 1000000'],
    [{ max: '9' }, '`keepDone.max` is "9": expected 1 to 1000000'],
    [{ result: 1 }, '`keepDone.result` is 1: expected true or false'],
    [{ age: '1d' }, 'unknown `keepDone.age` (given "1d"): expected one of for, max, result'],
  ])('refuses %j', (given, message) => {
    expect(() => resolveKeepDone(given as object, MODULE)).toThrow(message);
  });
});
