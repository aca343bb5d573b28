import type { JobTarget } from '../copies/job-ref.js';
import { look } from './generations.js';
import type { ProducerContext } from './producer-context.js';

/**
 * What a receipt would tell of a job of which only the id was given: from its record, or, without one, from the list of the
 * jobs that wait. Other references stay as they are. Undefined: nobody knows the job. It writes nothing about the job.
 */
export async function located(context: ProducerContext, target: JobTarget): Promise<JobTarget | undefined> {
  if (!target.byId) return target;
  const { tube, id } = target;
  const { batched, index, parts } = context;
  // A job that this process has just added is found, too.
  if (index) await look(index.written(tube));
  const found = (await look(batched.ask(tube, 'find', id))) ?? (await look(parts.waiting.find(tube, id)));
  if (!found) return undefined;
  const { born, due, places } = found;
  return { tube, id, born, due, places, copies: places.length };
}
