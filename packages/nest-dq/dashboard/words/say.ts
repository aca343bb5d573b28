// Figures in the language of the page.
import { bytesText, durationText, percentText, shortText, wholeText } from '../figures/numbers.js';
import { fullText, markText, timeText } from '../figures/times.js';
import { now } from '../state/live.js';
import { language, t } from './language.js';

const ABSENT = '–';

export function count(value: number | undefined): string {
  return value === undefined ? ABSENT : wholeText(value, language.value);
}

export function short(value: number): string {
  return shortText(value, language.value);
}

export function bytes(value: number | undefined): string {
  return value === undefined ? ABSENT : bytesText(value, language.value);
}

/** A share of 1. */
export function percent(share: number): string {
  return percentText(share, language.value);
}

/** Milliseconds; Infinity is beyond what is counted. */
export function duration(ms: number | undefined): string {
  if (ms === undefined) return ABSENT;
  return ms === Infinity ? t('time.veryLate') : durationText(ms, language.value);
}

export function time(at: number): string {
  return timeText(at, now.value, language.value);
}

/** Without seconds where there are none, as in the edges of a chart. */
export function roundTime(at: number): string {
  return at % 60_000 === 0 ? minuteTime(at) : time(at);
}

/** To a minute, for what isn't known more exactly. */
export function minuteTime(at: number): string {
  return timeText(at, now.value, language.value, 'minute');
}

export function fullTime(at: number): string {
  return fullText(at, language.value);
}

export function mark(at: number, every: number): string {
  return markText(at, every, language.value);
}

/** in 5m, or 5m ago. */
export function fromNow(at: number): string {
  const ms = at - now.value;
  const length = durationText(Math.floor(Math.abs(ms) / 1_000) * 1_000, language.value);
  if (Math.abs(ms) < 1_000) return t('time.now');
  return ms > 0 ? t('time.in', { duration: length }) : t('time.ago', { duration: length });
}
