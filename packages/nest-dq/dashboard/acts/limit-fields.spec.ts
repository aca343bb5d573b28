import { expect, it } from '@jest/globals';
import { areWrong, NO_LIMITS, typedLimits } from './limit-fields.js';

it.each([
  [{}, undefined],
  [{ rate: '10' }, { limit: { rate: 10 } }],
  [{ concurrency: ' 2 ' }, { limit: { concurrency: 2 } }],
  [{ perProcess: '1' }, { concurrency: 1 }],
  [
    { rate: '10', concurrency: '5', perProcess: '3' },
    { concurrency: 3, limit: { rate: 10, concurrency: 5 } },
  ],
  [{ rate: '0' }, undefined],
  [{ rate: '10', concurrency: 'many' }, undefined],
  [{ rate: '1.5' }, undefined],
  [{ rate: '-1' }, undefined],
])('%j is %j', (fields, expected) => {
  expect(typedLimits({ ...NO_LIMITS, ...fields })).toEqual(expected);
});

it.each(['0', '-3', '1.5', 'bad'])('%j is wrong, and an empty field is not', (rate) => {
  expect(areWrong({ ...NO_LIMITS, rate })).toBe(true);
  expect(areWrong({ ...NO_LIMITS, concurrency: '2' })).toBe(false);
});
