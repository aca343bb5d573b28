import type { RescheduleResult } from '../api/job.js';
import type { StoredTube } from '../api/tube.js';
import type { RefContent } from '../copies/job-ref.js';
import type { DqError } from '../errors.js';
import type { WaitingJob } from '../ledger/waiting-jobs.js';
import { reschedule } from '../producer/job-mover.js';
import type { ProducerContext } from '../producer/producer-context.js';
import type { PatientCall } from '../producer/retries.js';
import { ofOne } from './bulk.js';

/** What a receipt would tell of a job in the list. */
export function targetOf(tube: StoredTube, { id, born, due, places }: WaitingJob): RefContent {
  return { tube, id, born, due, copies: places.length, places };
}

/**
 * Moves a job of the list, unless others have moved it since it was read: then the result is `unknown`. An error that concerns
 * this job alone is a result, too, and at once: others must not wait for it.
 * @param dueOf Is asked for the new time in each try, and may throw.
 */
export function moveListed(
  context: ProducerContext,
  call: PatientCall,
  tube: StoredTube,
  job: WaitingJob,
  dueOf: () => number,
): Promise<RescheduleResult | DqError> {
  const until = context.parts.clock.now() + call.patience;
  return context.retries.run(call, async () => {
    try {
      const change = { due: dueOf(), until, only: job.generation, thorough: true };
      return await reschedule(context, targetOf(tube, job), change);
    } catch (error) {
      return ofOne(error);
    }
  });
}
