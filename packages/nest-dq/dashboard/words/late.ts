import type { Pace } from '../figures/history.js';
import { count, duration } from './say.js';

/** Runs begun in a minute. */
export function rateText(pace: Pace | undefined): string {
  if (!pace) return '–';
  return pace.perMinute > 0 && pace.perMinute < 1 ? '< 1' : count(pace.perMinute);
}

/** A lateness is known by its class only. */
export function lateText(lateness: number | undefined): string {
  if (lateness === undefined || lateness === Infinity) return duration(lateness);
  return `≤ ${duration(lateness)}`;
}
