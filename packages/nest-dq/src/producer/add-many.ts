import { DqError, factOf, show, wrongValue } from '../errors.js';
import type { AddResult, JobReceipt, NewJob } from '../api/job.js';
import { dueAfter, dueAt, dueNow, type Due } from './due.js';
import type { SharedPatience } from './retries.js';

/** Max concurrent adds of one `addMany` call: more are no faster. */
const MANY_AT_ONCE = 512;

/** Adds all jobs, a limited number at a time. Resolves with the results in the order of the jobs. */
export async function addAll<Job>(
  jobs: readonly Job[],
  add: (job: Job, together: SharedPatience) => Promise<JobReceipt>,
): Promise<AddResult[]> {
  const together: SharedPatience = { failingSince: undefined };
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

/** Returns the receipts. Throws a single error if some adds failed. */
export function receiptsOf(results: readonly AddResult[]): JobReceipt[] {
  const failures = results.flatMap(({ error }, index) => (error ? [{ index, error }] : []));
  const [first] = failures;
  if (!first) return results.map(({ receipt }) => receipt!);
  const { index, error } = first;
  const count = `${failures.length} of ${results.length} jobs were not added`;
  throw new DqError(error.code, `${count}; job ${index} of the list: ${factOf(error)}`, {
    cause: error,
    indeterminate: failures.some((failure) => failure.error.indeterminate),
    failures,
  });
}

/** Returns when a job of the list is due. An undefined `delay` or `at` is an error, so that no job runs now by mistake. */
export function dueOfNew(job: NewJob, allowPast: boolean): Due {
  if ('delay' in job && 'at' in job)
    throw new DqError('DQ_BAD_OPTION', 'a job has both `delay` and `at`: expected only one of them');
  if ('at' in job) return dueAt(job.at!, allowPast, (given) => `{ delay: ${given} }`);
  return 'delay' in job ? dueAfter(job.delay!) : dueNow;
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
