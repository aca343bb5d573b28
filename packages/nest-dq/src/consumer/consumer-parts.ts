import type { Cluster } from '../cluster/cluster.js';
import type { EventHub } from '../events/event-hub.js';
import type { HandlerMethod } from '../api/job.js';
import type { Ledger } from '../ledger/ledger.js';
import type { SettleQueue } from '../ledger/settle-queue.js';
import type { Clock } from '../time/clock.js';
import type { ConsumerReport } from './report.js';
import type { SharedLanesOfNodes } from './reserve/shared-lanes.js';

/** What all tubes of a process are consumed with. */
export interface ConsumerParts {
  readonly cluster: Cluster;
  readonly ledger: Ledger;
  readonly settleQueue: SettleQueue;
  readonly clock: Clock;
  readonly report: ConsumerReport;
  readonly events: EventHub;
  /** What is put around each handler. */
  readonly around?: (handler: HandlerMethod) => HandlerMethod;
}

/** What one tube of a process is consumed with. */
export interface TubeParts extends ConsumerParts {
  readonly sharedLanes: SharedLanesOfNodes;
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
