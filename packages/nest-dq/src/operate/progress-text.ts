import type { JobView } from '../api/job.js';

type Progress = Pick<NonNullable<JobView['progress']>, 'fraction' | 'note'>;

/** Whole percent: 100 only at the end. */
export function percentOf({ fraction }: Pick<Progress, 'fraction'>): number {
  return fraction < 1 ? Math.min(99, Math.round(fraction * 100)) : 100;
}

/** As in `40 % page 12 of 30`. */
export function progressText(progress: Progress): string {
  const { note } = progress;
  return `${percentOf(progress)} %${note === undefined ? '' : ` ${note}`}`;
}
