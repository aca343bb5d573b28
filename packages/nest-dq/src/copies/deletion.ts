import type { Clock } from 'nest-handlers/time';
import type { Cluster } from '../cluster/cluster.js';
import type { DeleteResult } from '../cluster/cluster-node.js';
import type { StoredTube } from '../api/tube.js';
import type { DeletedCopy } from '../ledger/handover.js';
import type { SettleQueue } from '../ledger/settle-queue.js';
import { openHeaderOf, unwrap } from './formats/unwrap.js';
import { isCopyOf } from './header.js';
import { hasUnknown, isUnknown, type Place } from './location.js';

/**
 * How long `deleteForCertain` waits for copies reserved by other connections. A consumer asks the ledger about a copy it holds
 * within a second or two, and then deletes or releases it.
 */
const HELD_LIMIT_MS = 5_000;
const LOOK_INTERVAL_MS = 50;

/** One generation of a job. */
export interface JobGeneration {
  readonly id: string;
  readonly generation: number;
}

/** Deletes one copy of a job, unless another job is in its place by now. Calls back with the copy if the server said DELETED. */
export function deleteCopy(
  cluster: Cluster,
  tube: StoredTube,
  job: JobGeneration,
  place: Place,
  done: (deleted: DeletedCopy | undefined, result: DeleteResult) => void,
): void {
  const { index, location } = place;
  cluster.delete(location, isCopyAt(cluster, tube, job, place), (result, node) => {
    const instance = node?.instance;
    done(result === 'deleted' && instance !== undefined ? { index, instance } : undefined, result);
  });
}

/** Parts needed to delete copies and to settle them in the ledger. */
export interface DeletingParts {
  readonly cluster: Cluster;
  readonly settleQueue: SettleQueue;
}

/**
 * Deletes the copies of a void generation, and settles those that are certainly gone. Resolves with true if every copy was there
 * and is deleted, so that none can surface. Never rejects.
 */
export async function deleteCopies(
  parts: DeletingParts,
  tube: StoredTube,
  job: JobGeneration,
  places: readonly Place[],
): Promise<boolean> {
  const { deleted } = await deleteOnce(parts, tube, job, places, hasUnknown(places));
  return isAll(deleted, places);
}

/** Result of a certain deletion. */
interface CertainDeletion {
  /** Whether every copy was there and is deleted. */
  readonly everywhere: boolean;
  /** Copies still there and reserved by other connections, so nobody else can delete them. */
  readonly held: readonly Place[];
}

/**
 * Like `deleteCopies`, but also waits for copies held by consumers: they delete a copy once the ledger says `gone`, or release
 * it. Doesn't wait for copies on unreachable nodes. Never rejects.
 */
export async function deleteForCertain(
  parts: DeletingParts & { readonly clock: Clock },
  tube: StoredTube,
  job: JobGeneration,
  places: readonly Place[],
): Promise<CertainDeletion> {
  const { cluster, clock } = parts;
  const until = clock.now() + HELD_LIMIT_MS;
  const exists = (place: Place) => cluster.has(place.location, isCopyAt(cluster, tube, job, place));
  let gone = 0;
  let held: readonly Place[] = [];
  for (let left = places; ; left = held) {
    const { deleted, missing } = await deleteOnce(parts, tube, job, left, hasUnknown(places));
    const there = await Promise.all(missing.map(exists));
    const byHolders = missing.filter((place, i) => !there[i] && held.includes(place)).length;
    gone += deleted + byHolders;
    held = missing.filter((_, i) => there[i]);
    if (held.length === 0 || clock.now() >= until) return { everywhere: isAll(gone, places), held };
    await new Promise<void>((resolve) => void clock.after(LOOK_INTERVAL_MS, resolve));
  }
}

/** `deleted`: number deleted by the servers. `missing`: copies that are not there, or are reserved by others. */
function deleteOnce(
  { cluster, settleQueue }: DeletingParts,
  tube: StoredTube,
  { id, generation }: JobGeneration,
  places: readonly Place[],
  unknown: boolean,
): Promise<{ readonly deleted: number; readonly missing: readonly Place[] }> {
  return new Promise((resolve) => {
    const known = places.filter(({ location }) => !isUnknown(location));
    const copies: DeletedCopy[] = [];
    const missing: Place[] = [];
    let left = known.length;
    const end = () => {
      settleQueue.add({ tube, id, generation, copies, unknown });
      resolve({ deleted: copies.length, missing });
    };
    if (left === 0) return end();
    for (const place of known) {
      deleteCopy(cluster, tube, { id, generation }, place, (copy, result) => {
        if (copy) copies.push(copy);
        else if (result === 'missing') missing.push(place);
        if (--left === 0) end();
      });
    }
  });
}

/** Copies at unknown places are never deleted, so they never count as all. */
function isAll(deleted: number, { length }: readonly Place[]): boolean {
  return deleted === length && length > 0;
}

function isCopyAt(
  cluster: Cluster,
  tube: StoredTube,
  job: JobGeneration,
  { index }: Place,
): (body: Buffer) => boolean {
  return (body) => {
    const found = unwrap(body, tube, cluster.settings.seal);
    // A copy that this process can't read is still there.
    const header = typeof found === 'object' ? found.header : openHeaderOf(body);
    return header !== undefined && isCopyOf({ header }, job.id, job.generation, index);
  };
}
