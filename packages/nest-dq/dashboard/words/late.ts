import { count, duration } from './say.js';

/** Runs begun in a minute. */
export function rateText(perMinute: number): string {
  return perMinute > 0 && perMinute < 1 ? '< 1' : count(Math.round(perMinute));
}

/** A lateness is known by its class only. */
export function lateText(lateness: number | undefined): string {
  if (lateness === undefined || lateness === Infinity) return duration(lateness);
  return `≤ ${duration(lateness)}`;
}
