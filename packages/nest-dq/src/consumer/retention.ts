import { show, unknownName, wrongValue } from '../errors.js';
import type { RetentionOptions } from '../api/job.js';
import type { SurplusRequest } from '../ledger/requests.js';
import { parseDuration } from '../time/duration.js';

/** How long the dead letters of a tube are kept. */
export type Retention = Omit<SurplusRequest, 'limit'>;

const LEAST_AGE = 60_000;
const MAX_LETTERS = 1_000_000_000;
const KNOWN = ['maxAge', 'maxCount'];

/** Checks an option `deadLetters` and fills in the defaults. Throws `DQ_BAD_OPTION`, `DQ_BAD_DURATION`. */
export function resolveRetention(given: RetentionOptions | undefined, defaults: Retention): Retention {
  if (given === undefined) return defaults;
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    const expected = "an object such as { maxAge: '30d', maxCount: 10_000 }";
    throw wrongValue('DQ_BAD_OPTION', '`deadLetters`', given, expected);
  }
  for (const [name, value] of Object.entries(given)) {
    if (KNOWN.includes(name) || value === undefined) continue;
    throw unknownName('DQ_BAD_OPTION', `\`deadLetters.${name}\` (given ${show(value)})`, KNOWN);
  }
  const { maxAge, maxCount } = given;
  return {
    maxAge: maxAge === undefined ? defaults.maxAge : checkAge(maxAge),
    maxCount: maxCount === undefined ? defaults.maxCount : checkCount(maxCount),
  };
}

function checkAge(maxAge: NonNullable<RetentionOptions['maxAge']>): number {
  const ms = parseDuration(maxAge, '`deadLetters.maxAge`');
  if (ms >= LEAST_AGE) return ms;
  throw wrongValue('DQ_BAD_OPTION', '`deadLetters.maxAge`', maxAge, `${LEAST_AGE} ms or more`);
}

function checkCount(count: number): number {
  if (Number.isSafeInteger(count) && count >= 1 && count <= MAX_LETTERS) return count;
  const expected = `1 to ${MAX_LETTERS} (the maximum)`;
  throw wrongValue('DQ_BAD_OPTION', '`deadLetters.maxCount`', count, expected);
}
