import type { Cluster } from '../cluster/cluster.js';
import type { StoredTube } from '../api/tube.js';
import { DqError } from '../errors.js';
import type { JobGeneration } from './deletion.js';
import { BAD_SEAL, keyNameOf, NO_KEY } from './formats/sealed.js';
import { openHeaderOf, unwrap } from './formats/unwrap.js';
import { isCopyOf, type Envelope } from './header.js';
import type { Place } from './location.js';

/** An existing copy that claims to be of the job, but that this process can't read. */
export interface UnreadableCopy {
  readonly location: string;
  /** Reason, for people. */
  readonly reason: string;
  /** Name of the key that would open it. Undefined if none would, because its seal is wrong. */
  readonly missingKey: string | undefined;
}

/** Reads one copy of a generation, trying one place after another. Undefined if no copy that this process can read is reachable. */
export async function readCopy(
  cluster: Cluster,
  tube: StoredTube,
  job: JobGeneration,
  places: readonly Place[],
): Promise<Envelope | undefined> {
  const found = await lookForCopy(cluster, tube, job, places);
  return isUnreadable(found) ? undefined : found;
}

/** Like `readCopy`, but distinguishes an unreadable copy from none: preferring one that only lacks a key over a broken one. */
export async function lookForCopy(
  cluster: Cluster,
  tube: StoredTube,
  { id, generation }: JobGeneration,
  places: readonly Place[],
): Promise<Envelope | UnreadableCopy | undefined> {
  const { seal } = cluster.settings;
  let unreadable: UnreadableCopy | undefined;
  for (const { index, location } of places) {
    const body = await cluster.peek(location);
    if (!body) continue;
    const found = unwrap(body, tube, seal);
    // A server that lost its log reuses ids, so another job may have this one.
    const isSame = (header: Envelope['header']) => isCopyOf({ header }, id, generation, index);
    if (typeof found === 'object') {
      if (isSame(found.header)) return found;
      continue;
    }
    const header = openHeaderOf(body);
    if (!header || !isSame(header)) continue;
    const missingKey = found.startsWith(NO_KEY) ? keyNameOf(body) : undefined;
    if (missingKey !== undefined) seal?.askForKeys();
    if (!unreadable || missingKey !== undefined)
      unreadable = { location, reason: reasonOf(found), missingKey };
  }
  return unreadable;
}

/** A generation and where its copies are. */
export type JobAt = JobGeneration & { readonly places: readonly Place[] };

/**
 * Resolves with the name of the key that a job's copies claim to be sealed with, unverified; an empty string if they are not
 * sealed, undefined if no copy is reachable. Tries one place after another.
 */
export async function sealedWith(
  cluster: Cluster,
  { id, generation, places }: JobAt,
): Promise<string | undefined> {
  for (const { index, location } of places) {
    const body = await cluster.peek(location);
    const header = body && openHeaderOf(body);
    if (header && isCopyOf({ header }, id, generation, index)) return keyNameOf(body) ?? '';
  }
  return undefined;
}

export function isUnreadable(found: Envelope | UnreadableCopy | undefined): found is UnreadableCopy {
  return found !== undefined && 'reason' in found;
}

/** Returns the error of an action that needs the content of a job. */
export function unreadable(id: string, { location, reason, missingKey }: UnreadableCopy): DqError {
  const expected =
    missingKey === undefined ? 'an unaltered copy' : `the key "${missingKey}" in \`seal.keys\``;
  return new DqError(
    'DQ_BAD_SEAL',
    `job ${id} has a copy at ${location}, but this process cannot read it: ${reason}: expected ${expected}`,
  );
}

function reasonOf(text: string): string {
  for (const mark of [NO_KEY, BAD_SEAL]) if (text.startsWith(mark)) return text.slice(mark.length);
  return text;
}
