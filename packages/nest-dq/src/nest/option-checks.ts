import { withoutSecrets, type LogErrors } from 'nest-handlers/log';
import type { Duration } from 'nest-handlers/time';
import { isTubeName } from '../beanstalk/codec/commands.js';
import { DqError, factOf, show, unknownName, wrongValue } from '../errors.js';
import { parseDuration } from '../time/duration.js';

/**
 * Returns a `DQ_CONFIG` with what is wrong, the value given, and what was expected. Redacts the value: it may be a secret given
 * for the wrong option.
 */
export function wrong(what: string, value: unknown, expected: string): DqError {
  return wrongValue('DQ_CONFIG', what, withoutSecrets(value), expected);
}

/** Errors of `logger` and `logLevels`. */
export const LOG_ERRORS: LogErrors = {
  wrong,
  unknownName: (what, level, known) => unknownName('DQ_CONFIG', `${what} (given ${show(level)})`, known),
};

/** Runs a lower layer's check and turns its error into `DQ_CONFIG`; `where` names the part of the configuration that is wrong. */
export function asConfigError<T>(where: string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    throw configError(where, error);
  }
}

/** Like `asConfigError`, for an error already thrown. */
export function configError(where: string, thrown: unknown): unknown {
  if (!(thrown instanceof DqError)) return thrown;
  return new DqError('DQ_CONFIG', where + factOf(thrown), { cause: thrown });
}

/** Checks for an integer from 1 to `most`. `DQ_CONFIG`. */
export function checkCount(name: string, value: unknown, most: number, why: string): number {
  if (Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= most)
    return value as number;
  throw wrong(`\`${name}\``, value, `${most === 1 ? '1' : `1 to ${most}`} (${why})`);
}

/** Parses a duration of at least `least` ms. Returns ms. `DQ_CONFIG`. */
export function checkDuration(name: string, value: Duration, least: number): number {
  const ms = asConfigError('', () => parseDuration(value, `\`${name}\``));
  if (ms < least) throw wrong(`\`${name}\``, value, `${least} ms or more`);
  return ms;
}

export function checkBoolean(name: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw wrong(`\`${name}\``, value, 'true or false');
}

export function checkPrefix(prefix: unknown): string {
  // A name must fit after it.
  if (prefix === '' || (typeof prefix === 'string' && isTubeName(`${prefix}x`))) return prefix;
  throw wrong('`prefix`', prefix, 'up to 199 of A-Z a-z 0-9 - + / ; . $ _ ( ), not beginning with -');
}
