import ms from 'ms';
import { DqError, show } from './errors.js';

/** The only source of time in this library. Specs give a virtual one. */
export interface Clock {
  /** Milliseconds since 1970 by the machine's clock, which may jump. */
  wall(): number;
  /** Milliseconds that only grow, from an arbitrary start; with fractions. */
  now(): number;
  /** Calls back once, not before `delay` milliseconds are over; any delay is fine (setTimeout alone wraps at 24.8 days). */
  after(delay: number, callback: () => void): Timer;
  /** Calls back once the code that runs now, and what it has made ready, is done; before any input: process.nextTick. */
  next(callback: () => void): void;
  /** Calls back once all input that is waiting now was read: setImmediate. */
  soon(callback: () => void): void;
}

export interface Timer {
  /** Idempotent. */
  cancel(): void;
}

const LONGEST_TIMEOUT = 2 ** 31 - 1;

class SystemTimer implements Timer {
  private readonly end: number;
  private handle: NodeJS.Timeout;

  constructor(
    delay: number,
    private readonly callback: () => void,
  ) {
    this.end = performance.now() + delay;
    this.handle = this.arm(delay);
  }

  cancel(): void {
    clearTimeout(this.handle);
  }

  /** setTimeout counts whole milliseconds of a clock of its own, and so may wake almost one too soon. */
  private arm(delay: number): NodeJS.Timeout {
    return setTimeout(
      () => {
        const left = this.end - performance.now();
        if (left > 0) this.handle = this.arm(left);
        else this.callback();
      },
      Math.min(Math.ceil(delay), LONGEST_TIMEOUT),
    );
  }
}

export const systemClock: Clock = {
  wall: () => Date.now(),
  now: () => performance.now(),
  after: (delay, callback) => new SystemTimer(Math.max(0, delay), callback),
  next: (callback) => process.nextTick(callback),
  soon: (callback) => void setImmediate(callback),
};

type DurationUnit =
  | ('ms' | 'msec' | 'msecs' | 'millisecond' | 'milliseconds' | 's' | 'sec' | 'secs' | 'second' | 'seconds')
  | ('m' | 'min' | 'mins' | 'minute' | 'minutes' | 'h' | 'hr' | 'hrs' | 'hour' | 'hours')
  | ('d' | 'day' | 'days' | 'w' | 'week' | 'weeks');
/** `M` might mean months. */
type DurationUnitAnyCase = DurationUnit | Exclude<Capitalize<DurationUnit> | Uppercase<DurationUnit>, 'M'>;

/**
 * Milliseconds, or one number with its unit: '500ms', '30s', '15m', '12h', '2 days', '1w'. A day is 24 hours. A text that
 * is made at run time is no Duration: `duration(text)` makes it one.
 */
export type Duration = number | `${number}${DurationUnitAnyCase}` | `${number} ${DurationUnitAnyCase}`;

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

const DURATION =
  /^\d+(\.\d+)? ?(ms|msecs?|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)$/i;
const IN_M = /^\d+(\.\d+)? ?M$/;
/** Milliseconds. Every duration is shorter. */
export const FIRST_TIMESTAMP = 1e12;
const EXPECTED_DURATION =
  "expected milliseconds, or one number with its unit such as '500ms', '30s', '15m', '12h', '2 days' or '1w'";

/**
 * Milliseconds of a duration, with fractions rounded up: checks a text that comes from the environment or a configuration,
 * as in `drainLimit: duration(config.getOrThrow('DRAIN_LIMIT'))`. `DQ_BAD_DURATION`: no duration.
 */
export function duration(text: string | number): number {
  return parseDuration(text, 'the duration');
}

/**
 * Milliseconds of a duration, with fractions rounded up.
 * `what` names the field in the error, `DQ_BAD_DURATION`.
 * Our own check stands before the `ms` library, which takes '900' as 0.9 s and '1M' as a minute.
 */
export function parseDuration(value: string | number, what: string): number {
  const parsed = typeof value === 'string' ? parseText(value.trim()) : value;
  // Compared so that it is shorter once it is rounded, too.
  if (typeof parsed === 'number' && parsed >= 0 && parsed <= FIRST_TIMESTAMP - 1) return Math.ceil(parsed);
  const why = typeof value === 'string' ? whyNotText(value.trim()) : whyNotNumber(value);
  throw new DqError('DQ_BAD_DURATION', `${what} is ${show(value)}: ${why}; ${EXPECTED_DURATION}`);
}

/** NaN for what is no duration, and for all over 100 characters. */
function parseText(text: string): number {
  return DURATION.test(text) && !IN_M.test(text) ? ms(text as ms.StringValue) : NaN;
}

function whyNotText(text: string): string {
  if (IN_M.test(text)) return 'M might mean months; minutes are m';
  if (DURATION.test(text)) return 'longer than 31 years';
  if (text.startsWith('-')) return 'negative';
  if (/^\d+(\.\d+)?$/.test(text)) return 'no unit';
  if (/^\d+(\.\d+)? ?(mo|months?|y|yrs?|years?)$/i.test(text)) {
    return 'months and years have no fixed length; use `at` with the instant';
  }
  return 'not a duration';
}

function whyNotNumber(value: unknown): string {
  if (isInstant(value)) return 'that is an instant, which belongs in `at`';
  if (typeof value !== 'number') return 'neither a number nor a text';
  if (!Number.isFinite(value)) return 'not a finite number';
  return value < 0
    ? 'negative'
    : `that looks like the timestamp of ${showInstant(value)}, which belongs in \`at\``;
}

const EXPECTED_WHEN =
  'expected a Date, milliseconds since 1970, a Temporal.Instant, or an object with toDate() or toJSDate()';
const LAST_SECONDS = 1e11;

/** Milliseconds since 1970 of an instant, rounded up; `DQ_BAD_TIME` otherwise. Seconds are refused, as a common slip. */
export function parseWhen(value: When): number {
  const refuse = (why: string) =>
    new DqError('DQ_BAD_TIME', `the instant is ${show(value)}: ${why}; ${EXPECTED_WHEN}`);
  if (typeof value !== 'number' && (typeof value !== 'object' || value === null)) {
    throw refuse(
      typeof value === 'string'
        ? 'a text; parse it first, so that its time zone is yours to say'
        : 'no instant',
    );
  }
  const instant = typeof value === 'number' ? value : instantOf(value);
  if (typeof instant !== 'number' || !Number.isFinite(instant)) {
    throw refuse(typeof value === 'number' || isInstant(value) ? 'not a finite time' : 'no instant');
  }
  if (instant < 0) throw refuse('before 1970');
  // A Date says what it means, so only bare numbers are suspected of being seconds.
  if (typeof value === 'number' && instant < LAST_SECONDS)
    throw refuse('that looks like seconds; multiply by 1000');
  return Math.ceil(instant);
}

/** No finite number for what is no instant. All are known by their shape: a Date may be of another realm, as in Jest. */
function instantOf(value: Exclude<When, number>): unknown {
  if ('epochMilliseconds' in value) return value.epochMilliseconds;
  return callOf(callOf(value, 'toJSDate') ?? callOf(value, 'toDate') ?? value, 'getTime');
}

function isInstant(value: unknown): value is Exclude<When, number> {
  if (typeof value !== 'object' || value === null) return false;
  return ['epochMilliseconds', 'toJSDate', 'toDate', 'getTime'].some((name) => name in value);
}

/** What the method of this name returns; undefined where there is none. */
function callOf(value: unknown, name: string): unknown {
  const method = (value as Readonly<Record<string, unknown>> | null)?.[name];
  return typeof method === 'function' ? method.call(value) : undefined;
}

/** As people read it; one that is too far for a Date as it is. */
export function showInstant(instant: number): string {
  const date = new Date(instant);
  return Number.isNaN(date.getTime()) ? `${instant} ms since 1970` : date.toISOString();
}
