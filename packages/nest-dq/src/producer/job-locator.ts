import type { JobTarget } from '../copies/job-ref.js';
import { look } from './generations.js';
import type { ProducerContext } from './producer-context.js';

/**
 * Completes a target given by id alone, from the job's record or, if there is none, from the list of waiting jobs. Other targets
 * are returned unchanged. Resolves with undefined if the job is unknown. Read-only.
 */
export async function locate(context: ProducerContext, target: JobTarget): Promise<JobTarget | undefined> {
  if (!target.byId) return target;
  const { tube, id } = target;
  const { batched, index, parts } = context;
  // So that a job just added by this process is found.
  if (index) await look(index.written(tube));
  const found = (await look(batched.ask(tube, 'find', id))) ?? (await look(parts.waiting.find(tube, id)));
  if (!found) return undefined;
  const { born, due, places } = found;
  return { tube, id, born, due, places, copies: places.length };
}
