/**
 * Upper bounds of the lateness classes, in ms, inclusive: from the lateness of an idle cluster to a day of downtime. Later runs fall
 * into one more class. The history, the dashboard and the metric `dq.job.lateness` share them.
 */
export const LATENESS_CLASSES = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 60_000, 600_000, 3_600_000, 86_400_000,
] as const;
