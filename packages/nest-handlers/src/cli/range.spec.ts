import { expect, it } from '@jest/globals';
import { parseArguments } from './arguments.js';
import { pastRangeOf, rangeOf } from './range.js';

const NOW = Date.UTC(2026, 11, 24, 18);
const argsOf = (...args: string[]) =>
  parseArguments(
    { name: 'dead list', flags: { from: { value: 'TIME', help: '' }, to: { value: 'TIME', help: '' } } },
    args,
  );

it('a range is two times, or one, or none', () => {
  expect(rangeOf(argsOf('--from', '-1h', '--to', '5m'), NOW)).toEqual({
    from: new Date(NOW - 3_600_000),
    to: new Date(NOW + 300_000),
  });
  expect(pastRangeOf(argsOf(), NOW)).toEqual({});
});

it('its end is after its start', () => {
  expect(() => rangeOf(argsOf('--from', '5m', '--to', '1m'), NOW)).toThrow(
    'dead list: --from is 2026-12-24T18:05:00Z (in 5m) and --to is 2026-12-24T18:01:00Z (in 1m): expected --to to be later.',
  );
});

it('a range of the past does not begin in the future, where it would select nothing', () => {
  expect(() => pastRangeOf(argsOf('--from', '5m'), NOW)).toThrow(
    'dead list: --from is 2026-12-24T18:05:00Z (in 5m): expected a time in the past, such as -1h for an hour ago.',
  );
});
