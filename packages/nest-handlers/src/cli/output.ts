import { grouped } from './text.js';

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

/** `1 job`, `12,412 jobs` */
export function counted(count: number, noun: string, nouns = `${noun}s`): string {
  return `${grouped(count)} ${count === 1 ? noun : nouns}`;
}

/** Formats a time with its distance from now: `2026-12-24T18:00:00Z (in 3 min)`. */
export function instant(at: Date, now: number): string {
  return `${at.toISOString().replace(/\.\d+Z$/, 'Z')} (${distance(at.getTime() - now)})`;
}

/** Formats a time of today (UTC) by its distance from now, and others with their date. */
export function recent(at: Date, now: number): string {
  const day = (time: Date) => time.toISOString().slice(0, 10);
  return day(at) === day(new Date(now)) ? distance(at.getTime() - now) : instant(at, now);
}

/** `in 3 min`, `3 min ago`, `now` */
export function distance(ms: number): string {
  const text = span(Math.abs(ms));
  if (Math.abs(ms) < 1_000) return 'now';
  return ms > 0 ? `in ${text}` : `${text} ago`;
}

const UNITS: readonly (readonly [name: string, ms: number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
];

/** Formats a duration in its two largest units: `2 d 4 h`, `250 ms`. */
export function span(ms: number): string {
  const from = UNITS.findIndex(([, size]) => ms >= size);
  if (from < 0) return `${Math.round(ms)} ms`;
  const [unit, size] = UNITS[from]!;
  const [smaller, smallerSize] = UNITS[from + 1] ?? ['', Infinity];
  const rest = Math.floor((ms % size) / smallerSize);
  return `${Math.floor(ms / size)} ${unit}${rest > 0 ? ` ${rest} ${smaller}` : ''}`;
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
