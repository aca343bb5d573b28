/** The ends of the classes of lateness in milliseconds: lines of a chart stand on these, as nothing is known between them. */
export const LATENESS_STEPS = [10, 100, 1_000, 10_000, 60_000, Infinity] as const;

/** The place of a lateness among the classes, from 1. */
export function stepOf(lateness: number): number {
  return LATENESS_STEPS.findIndex((end) => lateness <= end) + 1;
}
