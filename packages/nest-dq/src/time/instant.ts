import { readWhen, type FromNow, type When } from 'nest-handlers/time';
import { DqError, show } from '../errors.js';

/**
 * Returns a time in epoch ms, rounded up; otherwise `DQ_BAD_TIME`. Rejects seconds and a time from now, which are common
 * mistakes. `fromNow` shows how the call accepts a time from now, if it does.
 */
export function parseWhen(value: When, fromNow?: FromNow): number {
  const read = readWhen(value, fromNow);
  if (typeof read === 'number') return read;
  throw new DqError('DQ_BAD_TIME', `the time is ${show(value)}: ${read}`);
}
