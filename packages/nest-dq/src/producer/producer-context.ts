import type { JobRef } from '../api/job.js';
import type { StoredTube } from '../api/tube.js';
import type { Cluster } from '../cluster/cluster.js';
import { parseRef, type JobTarget } from '../copies/job-ref.js';
import { DqError } from '../errors.js';
import type { EventHub } from '../events/event-hub.js';
import type { DqHooks } from '../events/hooks.js';
import type { GoQueueParts } from '../go-queue/locks.js';
import type { Ledger } from '../ledger/ledger.js';
import type { SettleQueue } from '../ledger/settle-queue.js';
import type { WaitingJobs } from '../ledger/waiting-jobs.js';
import type { Clock, Duration } from 'nest-handlers/time';
import { parseDuration } from '../time/duration.js';
import { BatchedLedger } from './batched-ledger.js';
import { DueTimes } from './due.js';
import { IndexWriter } from './index-writer.js';
import { Retries } from './retries.js';

export interface ProducerSettings {
  /** Before every tube name. */
  readonly prefix: string;
  /** Milliseconds by which a backup surfaces later than the copy before it. */
  readonly backupDelay: number;
  /** Milliseconds that a call goes on trying while its outcome is certainly nothing, unless the call says otherwise. */
  readonly patience: number;
  /** Jobs that the index of a tube's waiting jobs may have. 0: none are added. @default 0 */
  readonly mostIndexed?: number;
}

/** What a cluster schedules jobs with. */
export interface ProducerParts {
  readonly cluster: Cluster;
  readonly ledger: Ledger;
  readonly goQueue: GoQueueParts;
  /** Finds a job by its id alone. */
  readonly waiting: WaitingJobs;
  readonly settleQueue: SettleQueue;
  readonly clock: Clock;
  readonly settings: ProducerSettings;
  readonly events: EventHub;
  /** Adds to the headers of each job. */
  readonly onSchedule?: DqHooks['onSchedule'];
}

/**
 * The parts, and what every call of a producer needs of them. A cluster has one, for all that stores, moves or ends jobs: so its
 * bounds are those of the process.
 */
export class ProducerContext {
  readonly retries: Retries;
  readonly dueTimes: DueTimes;
  /** For requests about one job. */
  readonly batched: BatchedLedger;
  /** Undefined: plain jobs are not indexed. */
  readonly index: IndexWriter | undefined;
  private closed = false;

  constructor(readonly parts: ProducerParts) {
    this.retries = new Retries(parts.clock);
    this.dueTimes = new DueTimes(parts.ledger, parts.clock);
    this.batched = new BatchedLedger(parts.ledger, parts.clock);
    const { mostIndexed = 0 } = parts.settings;
    this.index = mostIndexed > 0 ? new IndexWriter(parts.ledger, parts.clock) : undefined;
  }

  /** Everything fails from now on. Resolves once what was stored is indexed, within half a second. Idempotent. */
  async close(): Promise<void> {
    this.closed = true;
    this.retries.close();
    await this.index?.close();
  }

  /** `DQ_CLOSED`. */
  refuseIfClosed(): void {
    if (this.closed)
      throw new DqError('DQ_CLOSED', 'the module is closed, so no job can be added or changed');
  }

  /** `DQ_CLOSED`, `DQ_BAD_REF`, `DQ_BAD_TUBE`. */
  parse(ref: JobRef): JobTarget {
    this.refuseIfClosed();
    const { cluster, settings } = this.parts;
    return parseRef(ref, settings.prefix, cluster.settings.seal);
  }

  /** How long a call goes on trying, in ms. `DQ_BAD_DURATION`. */
  patienceOf(patience?: Duration): number {
    return patience === undefined ? this.parts.settings.patience : parseDuration(patience, '`patience`');
  }

  /** Ledger time of a tube, ms. */
  now(tube: StoredTube): number {
    return this.parts.ledger.tube(tube).now();
  }
}
