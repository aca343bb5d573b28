import type { StoredTube } from '../api/tube.js';
import { show, unknownName } from '../errors.js';
import type { Cluster } from '../cluster/cluster.js';
import type { ClusterNode } from '../cluster/cluster-node.js';
import { isUnknown, parseLocation, type Place } from '../copies/location.js';
import { isUnreadable, lookForCopy } from '../copies/reading.js';
import type { WaitingJob } from '../ledger/waiting-jobs.js';

/** Which copies count. */
export interface Counting {
  /** The endpoint of a node whose copies do not count, although it may come back. */
  readonly replaced?: string | undefined;
  /** True: those on drained nodes, and on nodes that this process does not know, count. Others may still need these nodes. */
  readonly byItself?: boolean;
}

/**
 * How many copies a job would have more if it were stored again now. 0: it has all that it can have, nobody knows, as a
 * node does not answer, or it waits for a retry, as a move would begin its attempts anew.
 */
export async function missingCopies(
  cluster: Cluster,
  job: WaitingJob & { readonly tube: StoredTube },
  counting: Counting = {},
): Promise<number> {
  if (job.attempt > 0) return 0;
  const { replaced } = counting;
  const usable = cluster.nodes.filter(
    ({ endpoint, writable, up, drained, twin }) =>
      up && writable && !drained && !twin && endpoint !== replaced,
  );
  const possible = Math.min(cluster.settings.replicas, usable.length);
  if (job.places.length === 0) return 0; // the list does not know them
  const known = job.places.filter(({ location }) => !isUnknown(location));
  const counted = await Promise.all(known.map((place) => counts(cluster, job, place, counting)));
  return Math.max(0, possible - counted.filter(Boolean).length);
}

async function counts(
  cluster: Cluster,
  job: WaitingJob & { readonly tube: StoredTube },
  place: Place,
  { replaced, byItself = false }: Counting,
): Promise<boolean> {
  const location = parseLocation(place.location);
  const node = location && nodeAt(cluster, location.instance, location.endpoint);
  if (!node) return byItself;
  if (node.endpoint === replaced || (node.drained && !byItself)) return false;
  // A server that runs on has what it stored. One that is away may come back with it.
  if (!node.up || node.instance === location.instance) return true;
  // It restarted: with its log it has the copy, without it not.
  const found = await lookForCopy(cluster, job.tube, job, [place]);
  if (found && !(isUnreadable(found) && found.missingKey === undefined)) return true;
  return !node.up;
}

/** By the instance first: two processes may know one node by two names. */
function nodeAt({ nodes }: Cluster, instance: string, endpoint: string): ClusterNode | undefined {
  return nodes.find((node) => node.instance === instance) ?? nodes.find((node) => node.endpoint === endpoint);
}

/** `DQ_BAD_OPTION`: the cluster has no such node. */
export function checkNode({ nodes }: Cluster, endpoint: string): void {
  const known = nodes.map((node) => node.endpoint);
  if (!known.includes(endpoint)) throw unknownName('DQ_BAD_OPTION', `node ${show(endpoint)}`, known);
}
