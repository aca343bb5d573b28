import { DqError, show, wrongValue } from '../errors.js';
import type { AddResult } from '../api/job.js';
import type { Clock } from 'nest-handlers/time';
import type { AddDone } from './job-adder.js';
import type { Together } from './retries.js';

/** Adds of one call of `delayMany` or `atMany` that are on their way at a time: more are no faster. */
const MANY_AT_ONCE = 512;

/** Adds all, some at a time. The results are in the order of the jobs. `add` may throw what is wrong with a job. */
export function addAll<Job>(
  jobs: readonly Job[],
  clock: Clock,
  add: (job: Job, together: Together, done: AddDone) => void,
): Promise<AddResult[]> {
  const together: Together = { failingSince: undefined };
  const results: AddResult[] = [];
  let next = 0;
  let left = jobs.length;
  return new Promise((resolve) => {
    const addNext = () => {
      const place = next++;
      const done: AddDone = (error, receipt) => {
        results[place] = receipt ? { receipt } : { error: error as DqError };
        if (receipt) together.failingSince = undefined;
        if (--left === 0) resolve(results);
        else if (next < jobs.length) addNext();
      };
      try {
        add(jobs[place]!, together, done);
      } catch (error) {
        // Later, or many wrong ones would call each other until the stack is full.
        clock.next(() => done(error));
      }
    };
    if (jobs.length === 0) resolve(results);
    while (next < Math.min(jobs.length, MANY_AT_ONCE)) addNext();
  });
}

/** Reads the whole list before anything is stored: an iterator may fail on its way. */
export function listOf<Job>(jobs: Iterable<Job>): Job[] {
  const iterable = typeof jobs === 'object' && jobs !== null && Symbol.iterator in jobs;
  if (!iterable) {
    throw new DqError('DQ_BAD_OPTION', `the jobs are ${show(jobs)}: expected an array, or another iterable`);
  }
  const list = Array.from(jobs);
  const wrong = list.findIndex((job) => typeof job !== 'object' || job === null);
  if (wrong < 0) return list;
  throw wrongValue('DQ_BAD_OPTION', `job ${wrong} of the list`, list[wrong], 'an object');
}
