import ms from 'ms';
import { isInstant, showInstant } from './instant.js';

type DurationUnit =
  | ('ms' | 'msec' | 'msecs' | 'millisecond' | 'milliseconds' | 's' | 'sec' | 'secs' | 'second' | 'seconds')
  | ('m' | 'min' | 'mins' | 'minute' | 'minutes' | 'h' | 'hr' | 'hrs' | 'hour' | 'hours')
  | ('d' | 'day' | 'days' | 'w' | 'week' | 'weeks');
/** `M` might mean months. */
type DurationUnitAnyCase = DurationUnit | Exclude<Capitalize<DurationUnit> | Uppercase<DurationUnit>, 'M'>;

/**
 * Milliseconds, or one number with its unit: '500ms', '30s', '15m', '12h', '2 days', '1w'. A day is 24 hours. A text that
 * is made at run time is no Duration for the compiler.
 */
export type Duration = number | `${number}${DurationUnitAnyCase}` | `${number} ${DurationUnitAnyCase}`;

const DURATION =
  /^\d+(\.\d+)? ?(ms|msecs?|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)$/i;
const IN_M = /^\d+(\.\d+)? ?M$/;
/** Milliseconds. Every duration is shorter. */
export const FIRST_TIMESTAMP = 1e12;
const EXPECTED =
  "expected milliseconds, or one number with its unit such as '500ms', '30s', '15m', '12h', '2 days' or '1w'";

/**
 * Milliseconds of a duration, with fractions rounded up, or why it is none. Our own check stands before the `ms` library,
 * which takes '900' as 0.9 s and '1M' as a minute.
 */
export function readDuration(value: unknown): number | string {
  const parsed = typeof value === 'string' ? parseText(value.trim()) : value;
  // Compared so that it is shorter once it is rounded, too.
  if (typeof parsed === 'number' && parsed >= 0 && parsed <= FIRST_TIMESTAMP - 1) return Math.ceil(parsed);
  const why = typeof value === 'string' ? whyNotText(value.trim()) : whyNotNumber(value);
  return `${why}; ${EXPECTED}`;
}

/** A time for people, rounded to its largest unit: `14 minutes`. */
export function spelled(milliseconds: number): string {
  return ms(Math.round(milliseconds), { long: true });
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
