import type { NewTimeWire } from '../../src/dashboard/wire.js';
import { fromField } from '../figures/times.js';

/** How a person says when jobs are to run. */
export type NewTimeKind = 'delay' | 'at' | 'later' | 'earlier' | 'spread';

/** Content of the form: a new time, the reason it isn't one, or nothing yet. */
export type NewTimeEntry =
  | { readonly when: NewTimeWire; readonly problem?: undefined }
  | { readonly when?: undefined; readonly problem: 'move.noDuration' | 'move.past' }
  | { readonly when?: undefined; readonly problem?: undefined };

/** As the server reads durations. `M` might mean months. */
const PART =
  /(\d+(?:\.\d+)?) ?(ms|msecs?|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)/gi;
const DURATION = new RegExp(`^${PART.source}(?: ?${PART.source})*$`, 'i');
const IN_M = /\d ?M(?![A-Za-z])/;
/** Milliseconds by which a time may be in the past, as for the server. */
const PAST_TOLERANCE_MS = 1_000;

/** @param now The server's time, in ms. */
export function newTimeOf(kind: NewTimeKind, text: string, now: number): NewTimeEntry {
  const given = text.trim();
  if (given === '') return {};
  if (kind === 'at') {
    const at = fromField(given);
    if (at === undefined) return {};
    return Date.parse(at) < now - PAST_TOLERANCE_MS ? { problem: 'move.past' } : { when: { at } };
  }
  if (!isDuration(given)) return { problem: 'move.noDuration' };
  if (kind === 'delay') return { when: { delay: given } };
  if (kind === 'spread')
    return durationMs(given) === 0 ? { problem: 'move.noDuration' } : { when: { spread: given } };
  return { when: kind === 'later' ? { later: given } : { earlier: given } };
}

const UNITS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
};

function isDuration(text: string): boolean {
  if (!DURATION.test(text) || IN_M.test(text)) return false;
  const units = partsOf(text).map(([, unit]) => unit);
  return units.every((unit, i) => i === 0 || unit < units[i - 1]!);
}

/** Milliseconds of a duration that `newTimeOf` accepts. */
export function durationMs(text: string): number {
  return partsOf(text).reduce((sum, [amount, unit]) => sum + amount * unit, 0);
}

function partsOf(text: string): (readonly [amount: number, unitMs: number])[] {
  return [...text.toLowerCase().matchAll(PART)].map(([, amount, unit = '']) => [
    Number(amount),
    /^(ms|milli)/.test(unit) ? 1 : UNITS[unit[0]!]!,
  ]);
}
