import type { Cluster } from '../cluster/cluster.js';
import type { Ledger } from '../ledger/ledger.js';
import type { SettleQueue } from '../ledger/settle-queue.js';
import type { Clock } from '../time.js';
import type { ConsumerReport } from './report.js';

/** What all tubes of a process are consumed with. */
export interface ConsumerParts {
  readonly cluster: Cluster;
  readonly ledger: Ledger;
  readonly settleQueue: SettleQueue;
  readonly clock: Clock;
  readonly report: ConsumerReport;
}

/** What all processes should agree on. */
export interface ConsumerSettings {
  /** Before every tube name. */
  readonly prefix: string;
  /** Milliseconds. */
  readonly backupDelay: number;
  /** Milliseconds. */
  readonly lease: number;
}
