import { LONGEST_DELAY } from '../copy-timing.js';
import { DqError } from '../errors.js';
import { parseDuration, parseWhen, type Duration, type When } from '../time.js';

/** When something is due, given ledger time at the call; both in whole ms. `DQ_PAST_TIME`, `DQ_TOO_FAR`. */
export type Due = (now: number) => number;

/** Milliseconds. `at(…, new Date())` would otherwise always be in the past. */
const PAST_TOLERANCE = 1_000;

export const dueNow: Due = (now) => Math.floor(now);

/** `DQ_BAD_DURATION`. */
export function dueAfter(delay: Duration): Due {
  const ms = parseDuration(delay, 'the delay');
  return (now) => Math.ceil(now + ms);
}

/** `DQ_BAD_TIME`. */
export function dueAt(when: When, allowPast: boolean): Due {
  const instant = parseWhen(when);
  return (now) => {
    if (instant < now - PAST_TOLERANCE && !allowPast) {
      throw new DqError(
        'DQ_PAST_TIME',
        `the instant is ${new Date(instant).toISOString()}, ${Math.round(now - instant)} ms ago: ` +
          'expected one to come; `allowPast: true` runs it now',
      );
    }
    if (instant - now > LONGEST_DELAY * 1000) {
      throw new DqError('DQ_TOO_FAR', `due at ${instant} ms, which is over ${LONGEST_DELAY} s ahead`);
    }
    return Math.max(instant, Math.floor(now));
  };
}
