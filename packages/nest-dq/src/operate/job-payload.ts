import type { JobRef } from '../api/job.js';
import type { Cluster } from '../cluster/cluster.js';
import { parseRef } from '../copies/job-ref.js';
import type { EncodedPayload } from '../api/payload-codec.js';
import { decodePayload, encodedIn } from '../copies/payload.js';
import { isUnreadable, lookForCopy, unreadable } from '../copies/reading.js';
import { DqError } from '../errors.js';
import type { Ledger } from '../ledger/ledger.js';
import type { WaitingJobs } from '../ledger/waiting/waiting-jobs.js';
import type { DqDeadLetters } from '../producer/dead-letters.js';
import { withoutPrefix } from '../api/tube.js';

interface PayloadSources {
  readonly cluster: Cluster;
  readonly ledger: Ledger;
  readonly waiting: WaitingJobs;
  readonly deadLetters: DqDeadLetters;
  readonly settings: { readonly prefix: string };
}

/** A payload and its job. */
export interface JobPayload {
  /** Name of the tube without the prefix. */
  readonly tube: string;
  /** Id of the job. */
  readonly id: string;
  /** Absent for a plain job. */
  readonly key?: string;
  readonly payload: unknown;
  /** Instead of `payload`: what a codec wrote. */
  readonly encoded?: EncodedPayload;
}

/**
 * Resolves with the payload of a job that waits, runs or is dead, read from one of its copies; undefined if no copy is reachable.
 * Rejects with `DQ_BAD_PAYLOAD` if the payload can't be read, `DQ_BAD_SEAL` if its copies can't; `DQ_BAD_REF`, `DQ_BAD_TUBE`,
 * `DQ_LEDGER_DOWN`, `DQ_CLOSED`.
 */
export async function payloadOf(sources: PayloadSources, ref: JobRef): Promise<JobPayload | undefined> {
  const { cluster, ledger, waiting, deadLetters, settings } = sources;
  const letter = await deadLetters.get(ref, { patience: 0 });
  if (letter) {
    const { tube, id, key, payload, encoded, missingKey } = letter;
    if (missingKey !== undefined)
      throw new DqError(
        'DQ_BAD_SEAL',
        `the copies of job ${id} are sealed with the key "${missingKey}", which this process does not have: expected that key in \`seal.keys\``,
      );
    if (!('payload' in letter) && !encoded) return undefined;
    return { tube, id, ...(key !== undefined && { key }), payload, ...(encoded && { encoded }) };
  }
  const given = parseRef(ref, settings.prefix, cluster.settings.seal);
  const { tube, id } = given;
  const target = { ...given, ...(given.byId && (await waiting.find(tube, id))) };
  const [trace] = await ledger.tube(tube).ask('trace', [id]);
  if (trace && target.born !== undefined && trace.born !== target.born) return undefined; // replaced
  const known = trace && trace.places.length > 0 ? trace : target;
  const generation = trace?.generation ?? target.born ?? 0;
  const copy = await lookForCopy(cluster, tube, { id, generation }, known.places);
  if (!copy) return undefined;
  if (isUnreadable(copy)) throw unreadable(id, copy);
  const { key } = copy.header;
  const name = withoutPrefix(tube, settings.prefix);
  const encoded = encodedIn(copy.content);
  const content = encoded ? { payload: undefined, encoded } : { payload: decodePayload(copy.content) };
  return { tube: name, id, ...(key !== undefined && { key }), ...content };
}
