import ms from 'ms';
import { isInstant, showInstant } from './instant.js';

type DurationUnit =
  | ('ms' | 'msec' | 'msecs' | 'millisecond' | 'milliseconds' | 's' | 'sec' | 'secs' | 'second' | 'seconds')
  | ('m' | 'min' | 'mins' | 'minute' | 'minutes' | 'h' | 'hr' | 'hrs' | 'hour' | 'hours')
  | ('d' | 'day' | 'days' | 'w' | 'week' | 'weeks');
/** `M` might mean months. */
type DurationUnitAnyCase = DurationUnit | Exclude<Capitalize<DurationUnit> | Uppercase<DurationUnit>, 'M'>;

/**
 * A duration: ms, or a number with a unit: '500ms', '30s', '15m', '12h', '2 days', '1w'. A day is 24 hours. To the compiler, a
 * string built at run time isn't a Duration.
 */
export type Duration = number | `${number}${DurationUnitAnyCase}` | `${number} ${DurationUnitAnyCase}`;

const DURATION =
  /^\d+(\.\d+)? ?(ms|msecs?|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)$/i;
const IN_M = /^\d+(\.\d+)? ?M$/;
/** In ms. Every duration is shorter. */
export const FIRST_TIMESTAMP = 1e12;
const EXPECTED =
  "expected milliseconds, or a number with a unit, such as '500ms', '30s', '15m', '12h', '2 days' or '1w'";

/**
 * Returns a duration in ms, fractions rounded up, or why it is none. Our own check precedes the `ms` library, which takes '900'
 * for 0.9 s and '1M' for a minute.
 */
export function readDuration(value: unknown): number | string {
  const parsed = typeof value === 'string' ? parseText(value.trim()) : value;
  // Compared so that it is still shorter after rounding.
  if (typeof parsed === 'number' && parsed >= 0 && parsed <= FIRST_TIMESTAMP - 1) return Math.ceil(parsed);
  const why = typeof value === 'string' ? whyNotText(value.trim()) : whyNotNumber(value);
  return `${why}; ${EXPECTED}`;
}

/** Formats a duration for people, rounded to its largest unit: `14 minutes`. */
export function spelled(milliseconds: number): string {
  return ms(Math.round(milliseconds), { long: true });
}

/** Returns NaN if it isn't a duration, or is longer than 100 characters. */
function parseText(text: string): number {
  return DURATION.test(text) && !IN_M.test(text) ? ms(text as ms.StringValue) : NaN;
}

function whyNotText(text: string): string {
  if (IN_M.test(text)) return 'M might mean months; write m for minutes';
  if (DURATION.test(text)) return 'longer than 31 years';
  if (text.startsWith('-')) return 'negative';
  if (/^\d+(\.\d+)?$/.test(text)) return 'no unit';
  if (/^\d+(\.\d+)? ?(mo|months?|y|yrs?|years?)$/i.test(text)) {
    return 'months and years have no fixed length; pass the time as `at`';
  }
  return 'not a duration';
}

function whyNotNumber(value: unknown): string {
  if (isInstant(value)) return 'that is a point in time; pass it as `at`';
  if (typeof value !== 'number') return 'neither a number nor a string';
  if (!Number.isFinite(value)) return 'not a finite number';
  return value < 0 ? 'negative' : `that looks like the timestamp ${showInstant(value)}; pass it as \`at\``;
}
