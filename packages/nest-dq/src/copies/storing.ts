import type { Cluster } from '../cluster/cluster.js';
import type { NewCopies, StoreResult } from '../cluster/job-put.js';
import { copyDelay, copyPriority } from './timing.js';
import { JobEnvelope, type Content, type JobHeader } from './envelope.js';
import { DqError } from '../errors.js';
import type { AnnouncedGeneration, OwedCopies } from '../ledger/requests.js';
import { hasUnknown, maskOf, type Place } from './location.js';

/** What became of the copies of one generation of a job. */
export interface Stored extends AnnouncedGeneration {
  /** Confirmed by INSERTED. */
  readonly copies: number;
  /** How many were meant to be. */
  readonly planned: number;
  /** As many as `minWritten`. */
  readonly enough: boolean;
  /** Why nodes failed, by endpoint; where it was not enough, of those too that get no copies. */
  readonly reasons: Readonly<Record<string, string>>;
}

/** The envelope of a generation for as many copies as there should be. */
export function envelopeFor(
  cluster: Cluster,
  header: Omit<JobHeader, 'copies'>,
  content: Content,
): JobEnvelope {
  const { id, due, generation, born, key, priority, attempts, backoff, headers } = header;
  const copies = cluster.settings.replicas;
  return new JobEnvelope(
    { id, due, generation, born, key, copies, priority, attempts, backoff, headers },
    content,
  );
}

/** `DQ_BAD_PAYLOAD` when a node would refuse it. To be asked before anything is written, in the ledger too. */
export function refuseTooLarge(cluster: Cluster, envelope: JobEnvelope): void {
  // Each node but the primary's may be named: a put without an answer is followed by one on another node.
  const size = envelope.largestCopy(cluster.nodes.length - 1, cluster.longestLocation);
  const limit = cluster.maxJobSize;
  if (size <= limit) return;
  const { endpoint } = cluster.nodes.find(({ maxJobSize }) => maxJobSize === limit)!;
  // A server is known by its port.
  const whose = endpoint.includes(':')
    ? `the max-job-size of ${endpoint} (beanstalkd -z)`
    : 'the limit of the embedded node';
  const fact = `the payload with its header may take ${size} bytes: expected ${limit} at most, ${whose}`;
  throw new DqError('DQ_BAD_PAYLOAD', fact);
}

/** Stores the copies of one generation; `now` is ledger time. Never fails itself: the result tells what is stored where. */
export function storeCopies(
  cluster: Cluster,
  job: { readonly tube: string; readonly envelope: JobEnvelope; readonly backupDelay: number },
  now: () => number,
  done: (stored: Stored) => void,
): void {
  const { generation, due } = job.envelope.job;
  const copies = new EnvelopeCopies(job.tube, job.envelope, job.backupDelay, now);
  cluster.put(copies, ({ planned, stored, doubtful, reasons }: StoreResult) => {
    const enough = stored.length >= cluster.settings.minWritten;
    const places = doubtful.length === 0 ? stored : [...stored, ...doubtful];
    done({
      generation,
      due,
      places,
      announced: announcedBy(cluster),
      owed: owedAt(places),
      copies: stored.length,
      planned,
      enough,
      reasons: enough ? reasons : { ...whyTwins(cluster), ...reasons },
    });
  });
}

/** Why a node was not asked at all that is the server of another one. */
function whyTwins({ nodes }: Cluster): Record<string, string> {
  return Object.fromEntries(
    nodes.filter(({ twin }) => twin).map(({ endpoint, reason }) => [endpoint, reason]),
  );
}

class EnvelopeCopies implements NewCopies {
  constructor(
    readonly tube: string,
    private envelope: JobEnvelope,
    private readonly backupDelay: number,
    private readonly now: () => number,
  ) {}

  get rest(): Uint8Array {
    return this.envelope.rest;
  }

  front(planned: number, index: number, siblings: readonly Place[]): string {
    const { job, content } = this.envelope;
    // Fewer nodes are there than there should be copies.
    if (planned !== job.copies) this.envelope = new JobEnvelope({ ...job, copies: planned }, content);
    return this.envelope.front(index, siblings);
  }

  delay(index: number): number {
    return copyDelay(index, this.envelope.job.due - this.now(), this.backupDelay);
  }

  priority(index: number): number {
    const { priority, due } = this.envelope.job;
    return copyPriority(priority, due, index);
  }
}

/** The copies that a put may store that is about to begin, a bit each. */
export function announcedBy(cluster: Cluster): number {
  return 2 ** cluster.settings.replicas - 1;
}

export function owedAt(places: readonly Place[]): OwedCopies {
  return { mask: maskOf(places), unknown: hasUnknown(places) };
}

/** Why it was not enough: for people. */
export function tooFewOf(cluster: Cluster, { copies, reasons }: Stored): string {
  return (
    `stored on ${copies} of ${cluster.nodes.length} nodes, need ${cluster.settings.minWritten}: ` +
    Object.entries(reasons)
      .map(([node, reason]) => `${node}: ${reason}`)
      .join('; ')
  );
}

/** `outcome` says what of it is left, and `indeterminate` whether that is certain. */
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
