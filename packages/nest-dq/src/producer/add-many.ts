import { DqError, show, wrongValue } from '../errors.js';
import type { AddResult, JobReceipt } from '../api/job.js';
import type { Together } from './retries.js';

/** Max concurrent adds of one `delayMany` or `atMany` call: more are no faster. */
const MANY_AT_ONCE = 512;

/** Adds all jobs, some at a time. Resolves with the results in the order of the jobs. */
export async function addAll<Job>(
  jobs: readonly Job[],
  add: (job: Job, together: Together) => Promise<JobReceipt>,
): Promise<AddResult[]> {
  const together: Together = { failingSince: undefined };
  const results: AddResult[] = [];
  let next = 0;
  const addInTurn = async () => {
    while (next < jobs.length) {
      const place = next++;
      try {
        results[place] = { receipt: await add(jobs[place]!, together) };
        together.failingSince = undefined;
      } catch (error) {
        results[place] = { error: error as DqError };
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(jobs.length, MANY_AT_ONCE) }, addInTurn));
  return results;
}

/** Reads the whole list before anything is stored: an iterator may fail midway. */
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
