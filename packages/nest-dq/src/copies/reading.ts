import type { Cluster } from '../cluster/cluster.js';
import { unwrap } from './formats/unwrap.js';
import { isCopyOf, type Envelope } from './header.js';
import type { Place } from './location.js';

/** Reads one copy of a generation. It asks one place after the other. Undefined: no copy is in reach. */
export function readCopy(
  cluster: Cluster,
  job: { readonly id: string; readonly generation: number },
  places: readonly Place[],
): Promise<Envelope | undefined> {
  return new Promise((resolve) => {
    const ask = (at: number) => {
      const place = places[at];
      if (!place) return resolve(undefined);
      cluster.peek(place.location, (body) => {
        // A server that lost its log gives the same ids again, so another job may have this one.
        const envelope = body && unwrap(body);
        if (typeof envelope === 'object' && isCopyOf(envelope, job.id, job.generation, place.index)) {
          return resolve(envelope);
        }
        ask(at + 1);
      });
    };
    ask(0);
  });
}
