import { readDuration } from 'nest-handlers/time';
import { DqError, show } from '../errors.js';

/**
 * Returns a duration in ms, rounded up. Validates a string from the environment or a configuration, as in
 * `shutdownTimeout: duration(config.getOrThrow('SHUTDOWN_TIMEOUT'))`. `DQ_BAD_DURATION` if it isn't a duration.
 */
export function duration(text: string | number): number {
  return parseDuration(text, 'the duration');
}

/** Returns a duration in ms, rounded up. `what` names the field in the error, `DQ_BAD_DURATION`. */
export function parseDuration(value: string | number, what: string): number {
  const read = readDuration(value);
  if (typeof read === 'number') return read;
  throw new DqError('DQ_BAD_DURATION', `${what} is ${show(value)}: ${read}`);
}
