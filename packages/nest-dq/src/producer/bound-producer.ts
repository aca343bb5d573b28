import type { JobRef, NewJob, TubeJobRef } from '../api/job.js';
import type { StoredTube, Tube } from '../api/tube.js';
import { namedCopies } from '../copies/formats/unwrap.js';
import { parseRef } from '../copies/job-ref.js';
import { DqError, show } from '../errors.js';
import type { DqProducer } from './producer.js';
import type { TubeProducer } from './tube-producer.js';

/** Returns a producer that forwards each call to `producer` with its tube. */
export function boundProducer(
  producer: DqProducer,
  tube: string | Tube,
  storedAs: StoredTube,
): TubeProducer<any> {
  return {
    now: (...given) => producer.now(tube, ...given),
    delay: (...given) => producer.delay(tube, ...given),
    at: (...given) => producer.at(tube, ...given),
    debounce: (...given) => producer.debounce(tube, ...given),
    throttle: (...given) => producer.throttle(tube, ...given),
    addMany: (jobs: Iterable<NewJob>, options?: object): Promise<any> =>
      producer.addMany(tube, jobs, options as { results: true }),
    revoke: async (ref, options) => producer.revoke(within(tube, storedAs, ref), options),
    reschedule: async (ref, ...given) => producer.reschedule(within(tube, storedAs, ref), ...given),
    find: async (ref, options) => producer.find(within(tube, storedAs, ref), options),
    finished: async (ref, options) => producer.finished(within(tube, storedAs, ref), options),
  };
}

/** Adds the tube, even to a plain `ref`: its schema validates a new payload. `DQ_BAD_REF`. */
function within(tube: string | Tube, storedAs: StoredTube, given: TubeJobRef): JobRef {
  const { ref, key, id }: { ref?: string; key?: string; id?: string } =
    typeof given === 'object' && given !== null ? given : { ref: given };
  if (ref === undefined && key !== undefined) return { tube, key };
  if (ref === undefined && id !== undefined) return { tube, id };
  const found = namedCopies(given as JobRef)?.[0] ?? parseRef(given as JobRef, '');
  if (found.tube === storedAs) return { tube, ref: ref! };
  throw new DqError(
    'DQ_BAD_REF',
    `the reference is to a job of ${show(found.tube)}: expected a job of ${show(storedAs)}, the tube of this producer`,
  );
}
