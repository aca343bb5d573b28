import { parseRef } from '../src/copies/job-ref.js';
import type { Place } from '../src/copies/location.js';
import type { DelayedJob, HandlerMethod } from '../src/api/job.js';
import type { VirtualClock } from 'nest-handlers/testing';

/** The job as its handler saw it at the start. */
export interface Seen extends Pick<
  DelayedJob,
  'id' | 'key' | 'payload' | 'headers' | 'attempt' | 'attempts' | 'fence' | 'lateness' | 'ref'
> {
  readonly at: number;
}

/** A handler that notes each run and ends as `how` says for the number of the run, from 1. */
export function noting(
  clock: VirtualClock,
  runs: Seen[],
  how: (run: number, job: DelayedJob) => unknown,
): HandlerMethod {
  return (payload, job) => {
    const { id, key, headers, attempt, attempts, fence, lateness, ref } = job;
    runs.push({ id, key, payload, headers, attempt, attempts, fence, lateness, ref, at: clock.wall() });
    return how(runs.length, job);
  };
}

/** The first run has this outcome; the others are done. */
export const once =
  (outcome: unknown) =>
  (run: number): unknown =>
    run === 1 ? outcome : undefined;

export const byIndex = (a: Place, b: Place): number => a.index - b.index;

/** The locations in a ref, in order. */
export function placesOf(ref: string): Place[] {
  return [...parseRef({ ref }, '').places].sort(byIndex);
}
