/**
 * An instant: a Date, milliseconds since 1970 (not seconds), a Temporal.Instant or ZonedDateTime, or what turns itself
 * into a Date, as those of Day.js and Luxon do.
 */
export type When =
  | Date
  | number
  | { readonly epochMilliseconds: number }
  | {
      /** As Day.js has it. */
      toDate(): Date;
    }
  | {
      /** As Luxon has it. */
      toJSDate(): Date;
    };

const EXPECTED =
  'expected a Date, milliseconds since 1970, a Temporal.Instant, or an object with toDate() or toJSDate()';
const LAST_SECONDS = 1e11;
/** Seconds that are less would be before September 2001. */
const FIRST_SECONDS = 1e9;
const DURATION = /^\d+(\.\d+)? ?[a-z]+$/i;

/** How the call in question takes a time from now, such as `{ delay: 5000 }` for 5000. */
export type FromNow = (given: string) => string;

/**
 * Milliseconds since 1970, rounded up, or why the value is no instant. Seconds, and a time from now, are refused, as common
 * slips. `fromNow`: how the call takes a time from now, if it does.
 */
export function readWhen(value: unknown, fromNow?: FromNow): number | string {
  const read = instantIn(value, fromNow);
  return typeof read === 'string' ? `${read}; ${EXPECTED}` : read;
}

function instantIn(value: unknown, fromNow?: FromNow): number | string {
  if (typeof value === 'string') {
    if (DURATION.test(value.trim())) return aTimeFromNow(`'${value.trim()}'`, fromNow);
    return 'a text; parse it first, so that its time zone is yours to say';
  }
  if (typeof value !== 'number' && (typeof value !== 'object' || value === null)) return 'no instant';
  const instant = typeof value === 'number' ? value : timeOf(value);
  if (typeof instant !== 'number' || !Number.isFinite(instant))
    return typeof value === 'number' || isInstant(value) ? 'not a finite time' : 'no instant';
  if (instant < 0) return 'before 1970';
  // A Date says what it means, so only bare numbers are suspected.
  if (typeof value === 'number' && instant < LAST_SECONDS) return whyTooSmall(instant, fromNow);
  return Math.ceil(instant);
}

function whyTooSmall(instant: number, fromNow?: FromNow): string {
  if (instant < FIRST_SECONDS) return aTimeFromNow(String(instant), fromNow);
  const orElse = fromNow ? `; if it is a time from now, write ${fromNow(String(instant))}` : '';
  return `that looks like seconds; multiply by 1000${orElse}`;
}

function aTimeFromNow(given: string, fromNow?: FromNow): string {
  const instead = fromNow ? `; write ${fromNow(given)}` : '; add it to the present time';
  return `that looks like a time from now${instead}`;
}

/** No finite number for what is no instant. All are known by their shape: a Date may be of another realm, as in Jest. */
function timeOf(value: object): unknown {
  if ('epochMilliseconds' in value) return value.epochMilliseconds;
  return callOf(callOf(value, 'toJSDate') ?? callOf(value, 'toDate') ?? value, 'getTime');
}

/** By its shape. */
export function isInstant(value: unknown): value is Exclude<When, number> {
  if (typeof value !== 'object' || value === null) return false;
  return ['epochMilliseconds', 'toJSDate', 'toDate', 'getTime'].some((name) => name in value);
}

/** What the method of this name returns; undefined where there is none. */
function callOf(value: unknown, name: string): unknown {
  const method = (value as Readonly<Record<string, unknown>> | null)?.[name];
  return typeof method === 'function' ? method.call(value) : undefined;
}

/** For people: an ISO date, or the number if it is too far for a Date. */
export function showInstant(instant: number): string {
  const date = new Date(instant);
  return Number.isNaN(date.getTime()) ? `${instant} ms since 1970` : date.toISOString();
}
