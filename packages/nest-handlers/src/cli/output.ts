import { span } from '../time.js';
import { type Cell, grouped, type Styled } from './text.js';

/** Formats `name  value` lines, skipping undefined values. A value of several lines continues below its first one. */
export function facts(entries: Readonly<Record<string, string | readonly string[] | undefined>>): string[] {
  const known = Object.entries(entries).filter(
    (entry): entry is [string, string | readonly string[]] => entry[1] !== undefined,
  );
  const width = Math.max(...known.map(([name]) => name.length));
  return known.flatMap(([name, value]) =>
    [value].flat().map((line, i) => `${(i === 0 ? name : '').padEnd(width)}  ${line}`),
  );
}

export { span };

/** `1 job`, `12,412 jobs` */
export function counted(count: number, noun: string, nouns = `${noun}s`): string {
  return `${grouped(count)} ${count === 1 ? noun : nouns}`;
}

/** Formats a time with its distance from now: `2026-12-24T18:00:00Z (in 3m)`. */
export function instant(at: Date, now: number): string {
  return `${at.toISOString().replace(/\.\d+Z$/, 'Z')} (${distance(at.getTime() - now)})`;
}

/** A time in a table: on a narrow terminal without its date if it is of today (UTC), or else without its distance from now. */
export function instantCell(at: Date, now: number): Styled {
  const text = instant(at, now);
  if (dayOf(at) !== dayOf(new Date(now))) return { text, shorter: [text.replace(/ \(.*/, '')] };
  return { text, shorter: [text.replace(/^.*T/, ''), distance(at.getTime() - now)] };
}

/** A time in a table as `recent` formats it, in shorter forms for a narrow terminal. */
export function recentCell(at: Date, now: number): Cell {
  return dayOf(at) === dayOf(new Date(now)) ? distance(at.getTime() - now) : instantCell(at, now);
}

function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10);
}

/** Formats a time of today (UTC) by its distance from now, and others with their date. */
export function recent(at: Date, now: number): string {
  return dayOf(at) === dayOf(new Date(now)) ? distance(at.getTime() - now) : instant(at, now);
}

/** `in 3m`, `3m ago`, `now` */
export function distance(ms: number): string {
  const text = span(Math.abs(ms));
  if (Math.abs(ms) < 1_000) return 'now';
  return ms > 0 ? `in ${text}` : `${text} ago`;
}

/** `1.4 MB` */
export function bytes(count: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let value = count;
  let unit = 0;
  while (value >= 1_000 && unit < units.length - 1) {
    value /= 1_000;
    unit++;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}
