import { showInstant, type Duration, type FromNow, type When } from 'nest-handlers/time';
import { LONGEST_DELAY } from '../copies/timing.js';
import { DqError, wrongValue } from '../errors.js';
import { parseDuration } from '../time/duration.js';
import { parseWhen } from '../time/instant.js';
import { checkObject } from './call-options.js';

/** Makes the due time from ledger time at the call; both in whole ms. `DQ_PAST_TIME`, `DQ_TOO_FAR`. */
export type Due = (now: number) => number;

/** Milliseconds. `at(…, new Date())` would otherwise always be in the past. */
const PAST_TOLERANCE = 1_000;

export const dueNow: Due = (now) => Math.floor(now);

/** `DQ_BAD_DURATION`. */
export function dueAfter(delay: Duration): Due {
  const ms = parseDuration(delay, 'the delay');
  return (now) => Math.ceil(now + ms);
}

const BY_DELAY: FromNow = (given) => `delay(tube, payload, ${given})`;

/** `DQ_BAD_TIME`. `fromNow`: how the call takes a time from now. */
export function dueAt(when: When, allowPast: boolean, fromNow = BY_DELAY): Due {
  const instant = parseWhen(when, fromNow);
  return (now) => {
    if (instant < now - PAST_TOLERANCE && !allowPast) {
      throw new DqError(
        'DQ_PAST_TIME',
        `the instant is ${showInstant(instant)}, ${Math.round(now - instant)} ms ago: ` +
          'expected an instant in the future; `allowPast: true` runs the job now',
      );
    }
    if (instant - now > LONGEST_DELAY * 1000) {
      const last = showInstant(now + LONGEST_DELAY * 1000);
      throw new DqError('DQ_TOO_FAR', `the instant is ${showInstant(instant)}: expected ${last} or sooner`);
    }
    return instant < now - PAST_TOLERANCE ? Math.floor(now) : instant;
  };
}

/** For a reschedule. `DQ_BAD_TIME`, `DQ_BAD_DURATION`. */
export function dueAgain(when: When | { readonly delay: Duration }, allowPast: boolean): Due {
  if (typeof when === 'string') {
    throw wrongValue('DQ_BAD_TIME', 'the new time', when, "an instant, or { delay: '15m' }");
  }
  return isDelay(when)
    ? dueAfter(checkObject('the new time', when, ['delay']).delay)
    : dueAt(when, allowPast, (given) => `{ delay: ${given} }`);
}

function isDelay(when: When | { readonly delay: Duration }): when is { readonly delay: Duration } {
  return typeof when === 'object' && when !== null && 'delay' in when;
}
