import type { Cluster, JobToPut } from '../cluster/cluster.js';
import type { StoredTube } from '../api/tube.js';
import { LARGEST_BODY_BYTES } from '../beanstalk/codec/reply-parser.js';
import { DqError } from '../errors.js';
import type { AnnouncedGeneration, OwedCopies } from '../ledger/requests.js';
import { JobEnvelope } from './formats/dq1.js';
import { SealedEnvelope } from './formats/sealed.js';
import type { JobHeader, WrittenJob } from './header.js';
import { hasUnknown, maskOf, type Place } from './location.js';
import type { Content } from './payload.js';

/** One generation of a job to store. */
interface NewGeneration extends JobToPut {
  readonly envelope: WrittenJob;
}

/** Result of storing the copies of one generation of a job. */
export interface Stored {
  readonly generation: number;
  /** Ledger time in ms. */
  readonly due: number;
  readonly places: readonly Place[];
  /** Number confirmed by INSERTED. */
  readonly copies: number;
  /** Number planned. */
  readonly planned: number;
  /** Whether `minWritten` was reached. */
  readonly enough: boolean;
  /** Why nodes failed, by endpoint. If not enough copies were stored, also why nodes get no copies. */
  readonly reasons: Readonly<Record<string, string>>;
}

/** Returns a generation in this cluster's format. */
export function envelopeFor(
  { settings: { seal } }: Cluster,
  tube: StoredTube,
  job: JobHeader,
  content: Content,
): WrittenJob {
  const key = seal?.keyFor(tube);
  return key === undefined
    ? new JobEnvelope(job, content)
    : new SealedEnvelope(seal!, key, tube, job, content);
}

/** Throws `DQ_BAD_PAYLOAD` if a node would refuse the job. Call it before anything is written, including to the ledger. */
export function refuseTooLarge(cluster: Cluster, envelope: WrittenJob): void {
  // The primary may name all other nodes: after a put without an answer, the copy is put on another node.
  const size = envelope.largestCopy(cluster.nodes.length - 1, cluster.longestLocation);
  const limit = cluster.maxJobSize;
  if (size <= limit) return;
  const { endpoint } = cluster.nodes.find(({ maxJobSize }) => maxJobSize === limit)!;
  // Only a server's endpoint has a port.
  const ofNode = endpoint.includes(':')
    ? `the max-job-size of ${endpoint} (beanstalkd -z)`
    : 'the limit of the embedded node';
  const whose = limit === LARGEST_BODY_BYTES ? 'the maximum of nest-dq' : ofNode;
  const fact = `the payload with its header may take ${size} bytes: expected at most ${limit}, ${whose}`;
  throw new DqError('DQ_BAD_PAYLOAD', fact);
}

/** Stores the copies of one generation. Never rejects: the result says what is stored where. */
export function storeCopies(cluster: Cluster, generation: NewGeneration): Promise<Stored> {
  const { job } = generation.envelope;
  return new Promise((resolve) => {
    cluster.put(generation, ({ planned, stored, doubtful, reasons }) => {
      const enough = stored.length >= cluster.settings.minWritten;
      const places = doubtful.length === 0 ? stored : [...stored, ...doubtful];
      resolve({
        generation: job.generation,
        due: job.due,
        places,
        copies: stored.length,
        planned,
        enough,
        reasons: enough ? reasons : { ...whyTwins(cluster), ...reasons },
      });
    });
  });
}

/** Reasons of nodes that weren't asked because they are the same server as another node. */
function whyTwins({ nodes }: Cluster): Record<string, string> {
  return Object.fromEntries(
    nodes.filter(({ twin }) => twin).map(({ endpoint, reason }) => [endpoint, reason]),
  );
}

/** Bitmask of the copies that an upcoming put may store. */
export function announcedBy(cluster: Cluster): number {
  return 2 ** cluster.settings.replicas - 1;
}

/** Returns what the ledger keeps of a stored generation that was opened before. */
export function announcedGeneration(
  cluster: Cluster,
  { generation, due, places }: Pick<Stored, 'generation' | 'due' | 'places'>,
): AnnouncedGeneration {
  return { generation, due, places, announced: announcedBy(cluster), owed: owedAt(places) };
}

export function owedAt(places: readonly Place[]): OwedCopies {
  return { mask: maskOf(places), unknown: hasUnknown(places) };
}

/** Returns why too few copies were stored, for people. */
export function tooFewOf(cluster: Cluster, { copies, reasons }: Stored): string {
  return (
    `stored on ${copies} of ${cluster.nodes.length} nodes, need ${cluster.settings.minWritten}: ` +
    Object.entries(reasons)
      .map(([node, reason]) => `${node}: ${reason}`)
      .join('; ')
  );
}

/** `outcome` says what is left of the job; `indeterminate` means that this is uncertain. */
export function tooFewCopies(
  cluster: Cluster,
  stored: Stored,
  outcome: string,
  indeterminate: boolean,
): DqError {
  return new DqError('DQ_TOO_FEW_COPIES', `${tooFewOf(cluster, stored)}; ${outcome}`, {
    nodes: stored.reasons,
    indeterminate,
  });
}
