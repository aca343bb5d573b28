import type { Cluster } from '../cluster/cluster.js';
import { isCopyOf, unwrap, type Envelope } from './envelope.js';
import type { Place } from './location.js';

/** Reads any copy of a generation, asking one place after the other; undefined when none is in reach. */
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
        // Ids begin again when a server loses its log: an innocent job may have this one.
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
