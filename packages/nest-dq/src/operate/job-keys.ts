import type { StoredTube } from '../api/tube.js';
import type { Cluster } from '../cluster/cluster.js';
import { unwrap } from '../copies/formats/unwrap.js';
import { parseLocation, UNKNOWN_COPY } from '../copies/location.js';
import { withinLimit } from '../time/call-limit.js';
import type { WaitingJob } from '../ledger/waiting-jobs.js';
import type { Clock } from 'nest-handlers/time';

/** Milliseconds for all jobs of a page. */
const LIMIT = 1_000;
/** Copies that are read at a time, so that adds and runs do not wait behind many. */
const AT_ONCE = 10;

/**
 * The keys of jobs, by their ids. The ledger does not have them, so a copy of each is read. Those whose node does not answer in
 * time are left out.
 */
export async function keysOf(
  { cluster, clock }: { readonly cluster: Cluster; readonly clock: Clock },
  tube: StoredTube,
  jobs: readonly WaitingJob[],
): Promise<ReadonlyMap<string, string>> {
  const keys = new Map<string, string>();
  // A job without a key was born without a generation.
  const left = jobs.filter(({ born, places }) => born > 0 && places.length > 0);
  let isOver = false;
  const read = async () => {
    for (let job = left.pop(); job && !isOver; job = left.pop()) {
      const key = await keyOf(cluster, tube, job);
      if (key !== undefined) keys.set(job.id, key);
    }
  };
  const all = Promise.all(Array.from({ length: AT_ONCE }, read));
  await withinLimit(clock, LIMIT, all).catch(() => undefined); // the rest is left out
  isOver = true;
  return keys;
}

/** From the first of its copies that has it. */
async function keyOf(
  cluster: Cluster,
  tube: StoredTube,
  { id, places }: WaitingJob,
): Promise<string | undefined> {
  for (const { location } of places) {
    if (parseLocation(location)?.copyId === UNKNOWN_COPY) continue; // its put had no answer
    const body = await cluster.peek(location);
    const envelope = body && unwrap(body, tube, cluster.settings.seal);
    if (typeof envelope === 'object' && envelope.header.id === id) return envelope.header.key;
  }
  return undefined;
}
