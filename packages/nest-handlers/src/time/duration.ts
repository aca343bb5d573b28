import ms from 'ms';
import { isInstant, showInstant } from './instant.js';

type DurationUnit =
  | ('ms' | 'msec' | 'msecs' | 'millisecond' | 'milliseconds' | 's' | 'sec' | 'secs' | 'second' | 'seconds')
  | ('m' | 'min' | 'mins' | 'minute' | 'minutes' | 'h' | 'hr' | 'hrs' | 'hour' | 'hours')
  | ('d' | 'day' | 'days' | 'w' | 'week' | 'weeks');
/** `M` might mean months. */
type DurationUnitAnyCase = DurationUnit | Exclude<Capitalize<DurationUnit> | Uppercase<DurationUnit>, 'M'>;

/**
 * A duration: ms, or a number with a unit: '500ms', '30s', '15m', '12h', '2 days', '1w', or several, the largest unit first:
 * '1h30m', '1d12h'. A day is 24 hours. To the compiler, a string built at run time isn't a Duration, and only the usual combinations are.
 */
export type Duration =
  | number
  | `${number}${DurationUnitAnyCase}`
  | `${number} ${DurationUnitAnyCase}`
  | `${number}w${number}d`
  | `${number}d${number}h`
  | `${number}d${number}h${number}m`
  | `${number}h${number}m`
  | `${number}h${number}m${number}s`
  | `${number}m${number}s`;

const PART =
  /(\d+(?:\.\d+)?) ?(ms|msecs?|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)/gi;
const DURATION = new RegExp(`^${PART.source}(?: ?${PART.source})*$`, 'i');
const IN_M = /\d ?M(?![A-Za-z])/;
/** In ms. Every duration is shorter. */
export const FIRST_TIMESTAMP = 1e12;
const EXPECTED =
  "expected milliseconds, or a number with a unit, such as '500ms', '30s', '15m', '1h30m', '2 days' or '1w'";

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

const UNITS: readonly (readonly [name: string, ms: number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
];

/** Formats a duration in its two largest units, as the dashboard does: `2d 4h`, `250ms`. */
export function span(ms: number): string {
  const from = UNITS.findIndex(([, size]) => ms >= size);
  if (from < 0) return `${Math.round(ms)}ms`;
  const [unit, size] = UNITS[from]!;
  const [smaller, smallerSize] = UNITS[from + 1] ?? ['', Infinity];
  const rest = Math.floor((ms % size) / smallerSize);
  return `${Math.floor(ms / size)}${unit}${rest > 0 ? ` ${rest}${smaller}` : ''}`;
}

/** Returns NaN if it isn't a duration, or a part of it is longer than 100 characters. */
function parseText(text: string): number {
  if (!DURATION.test(text) || IN_M.test(text) || !isDescending(text)) return NaN;
  return [...text.matchAll(PART)].reduce((sum, [part]) => sum + ms(part as ms.StringValue), 0);
}

function isDescending(text: string): boolean {
  const units = [...text.matchAll(PART)].map(([, , unit]) => ms(`1${unit}` as ms.StringValue));
  return units.every((unit, i) => i === 0 || unit < units[i - 1]!);
}

function whyNotText(text: string): string {
  if (DURATION.test(text) && IN_M.test(text)) return 'M might mean months; write m for minutes';
  if (DURATION.test(text)) {
    return isDescending(text)
      ? 'longer than 31 years'
      : 'not ordered from its largest unit to its smallest, each once';
  }
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
