import type { JobRef } from '../api/job.js';
import type { StoredTube } from '../api/tube.js';
import type { Cluster } from '../cluster/cluster.js';
import type { JobEnvelope } from '../copies/formats/dq1.js';
import { parseRef, type JobTarget } from '../copies/job-ref.js';
import { storeCopies, type Stored } from '../copies/storing.js';
import { DqError } from '../errors.js';
import type { EventHub } from '../events/event-hub.js';
import type { DqHooks } from '../events/hooks.js';
import type { Ledger } from '../ledger/ledger.js';
import type { SettleQueue } from '../ledger/settle-queue.js';
import type { Clock } from '../time/clock.js';
import { parseDuration, type Duration } from '../time/duration.js';
import { BatchedLedger, type BatchedTube } from './batched-ledger.js';
import { Retries, type PatientCall } from './retries.js';

export interface ProducerSettings {
  /** Before every tube name. */
  readonly prefix: string;
  /** Milliseconds by which a backup surfaces later than the copy before it. */
  readonly backupDelay: number;
  /** Milliseconds that a call goes on trying while its outcome is certainly nothing, unless the call says otherwise. */
  readonly patience: number;
}

/** What a cluster schedules jobs with. */
export interface ProducerParts {
  readonly cluster: Cluster;
  readonly ledger: Ledger;
  readonly settleQueue: SettleQueue;
  readonly clock: Clock;
  readonly settings: ProducerSettings;
  readonly events: EventHub;
  /** Adds to the headers of each job. */
  readonly onSchedule?: DqHooks['onSchedule'];
}

/** The parts, and what every call of a producer needs of them. */
export class ProducerContext {
  readonly cluster: Cluster;
  readonly ledger: Ledger;
  readonly settleQueue: SettleQueue;
  readonly clock: Clock;
  readonly settings: ProducerSettings;
  readonly retries: Retries;
  private readonly batched: BatchedLedger;
  private closed = false;

  constructor(
    { cluster, ledger, settleQueue, clock, settings }: ProducerParts,
    /** What a call fails with after the close. */
    private readonly closedFact: string,
  ) {
    this.cluster = cluster;
    this.ledger = ledger;
    this.settleQueue = settleQueue;
    this.clock = clock;
    this.settings = settings;
    this.retries = new Retries(clock);
    this.batched = new BatchedLedger(ledger, clock);
  }

  /** Everything fails from now on. Idempotent. */
  close(): void {
    this.closed = true;
    this.retries.close();
  }

  /** `DQ_CLOSED`. */
  refuseIfClosed(): void {
    if (this.closed) throw new DqError('DQ_CLOSED', `the module is closed, so ${this.closedFact}`);
  }

  /** `DQ_CLOSED`, `DQ_BAD_REF`, `DQ_BAD_TUBE`. */
  parse(ref: JobRef): JobTarget {
    this.refuseIfClosed();
    return parseRef(ref, this.settings.prefix);
  }

  /** `DQ_BAD_DURATION`. */
  patientCall(patience?: Duration, more?: Pick<PatientCall, 'repeatable'>): PatientCall {
    const ms = patience === undefined ? this.settings.patience : parseDuration(patience, '`patience`');
    return { patience: ms, ...more };
  }

  /** Ledger time of a tube, ms. */
  now(tube: StoredTube): number {
    return this.ledger.tube(tube).now();
  }

  /** The ledger of a tube, which takes one request a call and sends many together. */
  tube(tube: StoredTube): BatchedTube {
    return this.batched.tube(tube);
  }

  /** Stores the copies of one generation. It never fails: the result tells what is stored where. */
  store(tube: StoredTube, envelope: JobEnvelope, done: (stored: Stored) => void): void {
    const { backupDelay } = this.settings;
    const ledger = this.ledger.tube(tube);
    storeCopies(this.cluster, { tube, envelope, backupDelay }, () => ledger.now(), done);
  }
}
