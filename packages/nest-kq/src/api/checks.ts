/** Checks shared by everything that takes options. */
import { withoutSecrets } from 'nest-handlers/log';
import { readDuration, spelled } from 'nest-handlers/time';
import { KqError, show, unknownName, wrongValue, type KqErrorCode } from '../errors.js';

/** Throws unless `options` is an object with known fields only. */
export function checkOptions(
  code: KqErrorCode,
  whose: string,
  options: unknown,
  known: readonly string[],
): void {
  const what = `the options of ${whose}`;
  if (typeof options !== 'object' || options === null)
    throw new KqError(
      code,
      `${what} are ${show(withoutSecrets(options))}: expected an object with ${known.join(', ')}`,
    );
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown !== undefined) throw unknownName(code, `\`${unknown}\` in ${what}`, known);
}

export function wholeNumber(
  code: KqErrorCode,
  what: string,
  value: unknown,
  least: number,
  most: number,
): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value;
  throw wrongValue(code, what, value, `a whole number from ${least} to ${most}`);
}

/**
 * Returns a duration in ms, fractions rounded up. Checks a string from the environment or a configuration, as in
 * `shutdownTimeout: duration(config.getOrThrow('SHUTDOWN_TIMEOUT'))`. `KQ_BAD_OPTION`: not a duration.
 */
export function duration(text: string | number): number {
  return milliseconds('KQ_BAD_OPTION', 'the duration', text, 0, Infinity);
}

/** Returns a duration in ms. `least` and `most` are in ms, too. */
export function milliseconds(
  code: KqErrorCode,
  what: string,
  value: unknown,
  least: number,
  most: number,
): number {
  const read = readDuration(value);
  if (typeof read === 'string') throw new KqError(code, `${what} is ${show(value)}: ${read}`);
  if (read >= least && read <= most) return read;
  throw wrongValue(code, what, value, `${spelled(least)} to ${spelled(most)}`);
}
