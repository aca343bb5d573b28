import { withoutSecrets, type LogErrors } from 'nest-handlers/log';
import { KqError, factOf, show, unknownName, wrongValue } from '../errors.js';

/**
 * Returns a `KQ_CONFIG` that says what is wrong, the value given and what was expected. Secrets are masked: one may have been
 * given for the wrong option.
 */
export function wrong(what: string, value: unknown, expected: string): KqError {
  return wrongValue('KQ_CONFIG', what, withoutSecrets(value), expected);
}

/** Errors for `logger` and `logLevels`. */
export const LOG_ERRORS: LogErrors = {
  wrong,
  unknownName: (what, level, known) => unknownName('KQ_CONFIG', `${what} (given ${show(level)})`, known),
};

/** Runs a check of a lower layer and turns its refusal into `KQ_CONFIG`; `where` names the wrong part of the configuration. */
export function asConfigError<T>(where: string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (!(error instanceof KqError)) throw error;
    throw new KqError('KQ_CONFIG', where + factOf(error), { cause: error });
  }
}

export function checkBoolean(name: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw wrong(`\`${name}\``, value, 'true or false');
}

export function checkText(name: string, value: unknown): string {
  if (typeof value === 'string' && value.trim() !== '') return value;
  throw wrong(`\`${name}\``, value, 'a non-empty string');
}

export function checkOneOf<T extends string>(name: string, value: unknown, known: readonly T[]): T {
  const found = known.find((each) => each === value);
  if (found !== undefined) return found;
  throw wrong(`\`${name}\``, value, `one of ${known.join(', ')}`);
}
