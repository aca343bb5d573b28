/**
 * A point in time: a Date, ms since 1970 (not seconds), a Temporal.Instant or ZonedDateTime, or an object that converts to a
 * Date, as in Day.js and Luxon.
 */
export type When =
  | Date
  | number
  | { readonly epochMilliseconds: number }
  | {
      /** As in Day.js. */
      toDate(): Date;
    }
  | {
      /** As in Luxon. */
      toJSDate(): Date;
    };

const EXPECTED =
  'expected a Date, milliseconds since 1970, a Temporal.Instant, or an object with toDate() or toJSDate()';
const LAST_SECONDS = 1e11;
/** Fewer seconds would be before September 2001. */
const FIRST_SECONDS = 1e9;
const DURATION = /^\d+(\.\d+)? ?[a-z]+$/i;

/** Returns how the call in question takes a time from now, such as `{ delay: 5000 }` for 5000. */
export type FromNow = (given: string) => string;

/**
 * Returns ms since 1970, rounded up, or why the value is no point in time. Seconds and times from now are refused, as common
 * mistakes. `fromNow`: how the call takes a time from now, if it does.
 */
export function readWhen(value: unknown, fromNow?: FromNow): number | string {
  const read = instantIn(value, fromNow);
  return typeof read === 'string' ? `${read}; ${EXPECTED}` : read;
}

function instantIn(value: unknown, fromNow?: FromNow): number | string {
  if (typeof value === 'string') {
    if (DURATION.test(value.trim())) return aTimeFromNow(`'${value.trim()}'`, fromNow);
    return 'a string; parse it first, so that you choose the time zone';
  }
  if (typeof value !== 'number' && (typeof value !== 'object' || value === null))
    return 'not a point in time';
  const instant = typeof value === 'number' ? value : timeOf(value);
  if (typeof instant !== 'number' || !Number.isFinite(instant))
    return typeof value === 'number' || isInstant(value) ? 'not a finite time' : 'not a point in time';
  if (instant < 0) return 'before 1970';
  // A Date is unambiguous, so only bare numbers are suspect.
  if (typeof value === 'number' && instant < LAST_SECONDS) return whyTooSmall(instant, fromNow);
  return Math.ceil(instant);
}

function whyTooSmall(instant: number, fromNow?: FromNow): string {
  if (instant < FIRST_SECONDS) return aTimeFromNow(String(instant), fromNow);
  const orElse = fromNow ? `; if it is a time from now, write ${fromNow(String(instant))}` : '';
  return `that looks like seconds; multiply by 1000${orElse}`;
}

function aTimeFromNow(given: string, fromNow?: FromNow): string {
  const instead = fromNow ? `; write ${fromNow(given)}` : '; add it to the current time';
  return `that looks like a time from now${instead}`;
}

/**
 * Returns anything but a finite number if it isn't a point in time. All are recognized by shape: a Date may be of another realm,
 * as in Jest.
 */
function timeOf(value: object): unknown {
  if ('epochMilliseconds' in value) return value.epochMilliseconds;
  return callOf(callOf(value, 'toJSDate') ?? callOf(value, 'toDate') ?? value, 'getTime');
}

/** Checks by shape. */
export function isInstant(value: unknown): value is Exclude<When, number> {
  if (typeof value !== 'object' || value === null) return false;
  return ['epochMilliseconds', 'toJSDate', 'toDate', 'getTime'].some((name) => name in value);
}

/** Returns the result of the method of this name; undefined if there is none. */
function callOf(value: unknown, name: string): unknown {
  const method = (value as Readonly<Record<string, unknown>> | null)?.[name];
  return typeof method === 'function' ? method.call(value) : undefined;
}

/** Formats a point in time for people: an ISO date, or the number if too far for a Date. */
export function showInstant(instant: number): string {
  const date = new Date(instant);
  return Number.isNaN(date.getTime()) ? `${instant} ms since 1970` : date.toISOString();
}
