import { withoutSecrets, type LogErrors } from 'nest-handlers/log';
import type { Duration } from 'nest-handlers/time';
import { isTubeName } from '../beanstalk/codec/commands.js';
import { DqError, factOf, show, unknownName, wrongValue } from '../errors.js';
import { parseDuration } from '../time/duration.js';

/** `DQ_CONFIG`: what is wrong, the value that was given, and what was expected. A value may be a secret that was given for the wrong option. */
export function wrong(what: string, value: unknown, expected: string): DqError {
  return wrongValue('DQ_CONFIG', what, withoutSecrets(value), expected);
}

/** The errors of `logger` and `logLevels`. */
export const LOG_ERRORS: LogErrors = {
  wrong,
  unknownName: (what, level, known) => unknownName('DQ_CONFIG', `${what} (given ${show(level)})`, known),
};

/** Runs a check of a lower layer. Its refusal becomes `DQ_CONFIG`; `where` says which part of the configuration is wrong. */
export function asConfigError<T>(where: string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    throw configError(where, error);
  }
}

/** The same for an error that was thrown already. */
export function configError(where: string, thrown: unknown): unknown {
  if (!(thrown instanceof DqError)) return thrown;
  return new DqError('DQ_CONFIG', where + factOf(thrown), { cause: thrown });
}

/** A whole number of 1 to `most`. */
export function checkCount(name: string, value: unknown, most: number, why: string): number {
  if (Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= most)
    return value as number;
  throw wrong(`\`${name}\``, value, `${most === 1 ? '1' : `1 to ${most}`} (${why})`);
}

/** Milliseconds. */
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
  // A name has to fit behind it.
  if (prefix === '' || (typeof prefix === 'string' && isTubeName(`${prefix}x`))) return prefix;
  throw wrong('`prefix`', prefix, 'up to 199 of A-Z a-z 0-9 - + / ; . $ _ ( ), not beginning with -');
}
