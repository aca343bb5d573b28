import type { Cluster } from '../cluster/cluster.js';
import type { StoredTube } from '../api/tube.js';
import type { JobGeneration } from './deletion.js';
import { unwrap } from './formats/unwrap.js';
import { isCopyOf, type Envelope } from './header.js';
import type { Place } from './location.js';

/** Reads one copy of a generation. It asks one place after the other. Undefined: no copy is in reach. */
export async function readCopy(
  cluster: Cluster,
  tube: StoredTube,
  { id, generation }: JobGeneration,
  places: readonly Place[],
): Promise<Envelope | undefined> {
  for (const { index, location } of places) {
    const body = await new Promise<Buffer | undefined>((resolve) => cluster.peek(location, resolve));
    // A server that lost its log gives the same ids again, so another job may have this one.
    const envelope = body && unwrap(body, tube, cluster.settings.seal);
    if (typeof envelope === 'object' && isCopyOf(envelope, id, generation, index)) return envelope;
  }
  return undefined;
}
