import type { JobRef } from '../api/job.js';
import type { StoredTube } from '../api/tube.js';
import type { Cluster } from '../cluster/cluster.js';
import type { Envelope } from '../copies/header.js';
import { parseRef, type JobTarget } from '../copies/job-ref.js';
import { DqError } from '../errors.js';
import type { EventHub } from '../events/event-hub.js';
import type { DqHooks } from '../events/hooks.js';
import type { Ledger } from '../ledger/ledger.js';
import type { SettleQueue } from '../ledger/settle-queue.js';
import type { WaitingJobs } from '../ledger/waiting/waiting-jobs.js';
import type { Clock, Duration } from 'nest-handlers/time';
import { parseDuration } from '../time/duration.js';
import { BatchedLedger } from './batched-ledger.js';
import { DueTimes } from './due.js';
import { IndexWriter } from './index-writer.js';
import { Retries } from './retries.js';

export interface ProducerSettings {
  /** Prefix of every tube name. */
  readonly prefix: string;
  /** How much later a backup surfaces than the copy before it, in ms. */
  readonly backupDelay: number;
  /** Default for how long a call that certainly had no effect is retried, in ms. */
  readonly patience: number;
  /** How long the ledger knows of a job that ended, in ms. */
  readonly doneTtl: number;
  /** Max waiting jobs per tube in the index. 0 indexes none. @default 0 */
  readonly mostIndexed?: number;
}

/** The key and due time of an adopted job. */
export interface AdoptedAs {
  readonly key: string;
  /** Ledger time in ms. */
  readonly due: number;
}

/** Turns a job in another program's format into one of ours. A job that was already adopted stays as it is. */
export type Adopt = (tube: StoredTube, copy: Envelope, as: AdoptedAs) => Promise<unknown>;

/** Dependencies of a cluster's producer. */
export interface ProducerParts {
  readonly cluster: Cluster;
  readonly ledger: Ledger;
  readonly adopt: Adopt;
  /** Finds a job by id alone. */
  readonly waiting: WaitingJobs;
  readonly settleQueue: SettleQueue;
  readonly clock: Clock;
  readonly settings: ProducerSettings;
  readonly events: EventHub;
  /** Hook that may add headers to each job. */
  readonly onSchedule?: DqHooks['onSchedule'];
}

/**
 * The parts, plus what every producer call needs from them. Each cluster has one, shared by everything that stores, moves or ends
 * jobs, so its limits apply to the whole process.
 */
export class ProducerContext {
  readonly retries: Retries;
  readonly dueTimes: DueTimes;
  /** Batches requests about single jobs. */
  readonly batched: BatchedLedger;
  /** Undefined if plain jobs are not indexed. */
  readonly index: IndexWriter | undefined;
  private closed = false;

  constructor(readonly parts: ProducerParts) {
    this.retries = new Retries(parts.clock);
    this.dueTimes = new DueTimes(parts.ledger, parts.clock);
    this.batched = new BatchedLedger(parts.ledger, parts.clock);
    const { mostIndexed = 0 } = parts.settings;
    this.index = mostIndexed > 0 ? new IndexWriter(parts.ledger, parts.clock) : undefined;
  }

  /** Closes the context: everything fails from now on. Resolves once stored jobs are indexed, within half a second. Idempotent. */
  async close(): Promise<void> {
    this.closed = true;
    this.retries.close();
    await this.index?.close();
  }

  /** Throws `DQ_CLOSED` after `close`. */
  refuseIfClosed(): void {
    if (this.closed) throw new DqError('DQ_CLOSED', 'the module is closed; no job can be added or changed');
  }

  /** Parses a reference. `DQ_CLOSED`, `DQ_BAD_REF`, `DQ_BAD_TUBE`. */
  parse(ref: JobRef): JobTarget {
    this.refuseIfClosed();
    const { cluster, settings } = this.parts;
    return parseRef(ref, settings.prefix, cluster.settings.seal);
  }

  /** Returns how long to retry a call, in ms. `DQ_BAD_DURATION`. */
  patienceOf(patience?: Duration): number {
    return patience === undefined ? this.parts.settings.patience : parseDuration(patience, '`patience`');
  }

  /** Returns the ledger time of a tube in ms. */
  now(tube: StoredTube): number {
    return this.parts.ledger.tube(tube).now();
  }
}
