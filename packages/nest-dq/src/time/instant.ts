import { readWhen, type When } from 'nest-handlers/time';
import { DqError, show } from '../errors.js';

/** Milliseconds since 1970 of an instant, rounded up; `DQ_BAD_TIME` otherwise. Seconds are refused, as a common slip. */
export function parseWhen(value: When): number {
  const read = readWhen(value);
  if (typeof read === 'number') return read;
  throw new DqError('DQ_BAD_TIME', `the instant is ${show(value)}: ${read}`);
}
