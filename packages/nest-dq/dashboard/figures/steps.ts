import { LATENESS_CLASSES } from '../../src/events/lateness-classes.js';

/** The ends of the classes of lateness in milliseconds: lines of a chart stand on these, as nothing is known between them. */
export const LATENESS_STEPS: readonly number[] = [...LATENESS_CLASSES, Infinity];

/** The place of a lateness among the classes, from 1. */
export function stepOf(lateness: number): number {
  return LATENESS_STEPS.findIndex((end) => lateness <= end) + 1;
}

/** The steps to label on an axis from 0 to `highest`: at most `most` besides 0, evenly spaced down from the highest. */
export function stepMarks(highest: number, most: number): number[] {
  const every = Math.ceil(highest / most);
  const marks = Array.from({ length: Math.floor((highest - 1) / every) + 1 }, (_, i) => highest - i * every);
  return [0, ...marks.reverse()];
}
