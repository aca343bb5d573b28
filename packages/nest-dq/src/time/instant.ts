import { readWhen, type FromNow, type When } from 'nest-handlers/time';
import { DqError, show } from '../errors.js';

/**
 * Milliseconds since 1970 of an instant, rounded up; `DQ_BAD_TIME` otherwise. Seconds, and a time from now, are refused, as common
 * slips. `fromNow`: how the call takes a time from now, if it does.
 */
export function parseWhen(value: When, fromNow?: FromNow): number {
  const read = readWhen(value, fromNow);
  if (typeof read === 'number') return read;
  throw new DqError('DQ_BAD_TIME', `the instant is ${show(value)}: ${read}`);
}
