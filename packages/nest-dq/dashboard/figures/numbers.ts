// Numbers as people read them. Each takes the language: 'en' or 'zh'.
import { numberFormat } from './formats.js';

/** A whole number with separators. */
export function wholeText(value: number, language: string): string {
  return numberFormat(language, { maximumFractionDigits: 0 }).format(value);
}

/** For axes, where little room is: 1.2K, 3M. */
export function shortText(value: number, language: string): string {
  return numberFormat(language, { notation: 'compact', maximumFractionDigits: 1 }).format(value);
}

/** A share of 1 in percent. */
export function percentText(share: number, language: string): string {
  return numberFormat(language, { style: 'percent', maximumFractionDigits: 0 }).format(share);
}

const BYTES = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** Bytes with the largest unit that leaves at least one. */
export function bytesText(bytes: number, language: string): string {
  const power = bytes < 1 ? 0 : Math.min(BYTES.length - 1, Math.floor(Math.log2(bytes) / 10));
  const digits = power === 0 ? 0 : 1;
  const value = numberFormat(language, { maximumFractionDigits: digits }).format(bytes / 1024 ** power);
  return `${value}\u00a0${BYTES[power]}`; // one word, where a line ends
}

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const;

/** The two largest units of a duration, rounded down: 2d 3h, 4m 10s, 12s, 850ms. */
export function durationText(ms: number, language: string): string {
  const unit = (value: number, name: string) =>
    numberFormat(language, { style: 'unit', unit: name, unitDisplay: 'narrow' }).format(value);
  const length = Math.abs(ms);
  const at = UNITS.findIndex(([, size]) => length >= size);
  if (at < 0) return unit(Math.round(length), 'millisecond');
  const [name, size] = UNITS[at]!;
  const first = unit(Math.floor(length / size), name);
  const next = UNITS[at + 1];
  const rest = next === undefined ? 0 : Math.floor((length % size) / next[1]);
  return rest === 0 ? first : `${first} ${unit(rest, next![0])}`;
}
