import type { Cluster } from '../cluster/cluster.js';
import type { EventHub } from '../events/event-hub.js';
import type { DqHooks } from '../events/hooks.js';
import type { Ledger } from '../ledger/ledger.js';
import type { SettleQueue } from '../ledger/settle-queue.js';
import type { Clock } from '../time/clock.js';

/** What jobs are scheduled with. */
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

export interface ProducerSettings {
  /** Before every tube name. */
  readonly prefix: string;
  /** How much later a backup copy comes due, in ms. */
  readonly backupDelay: number;
  /** How long a call goes on trying of which nothing came for certain, in ms, unless it says so itself. */
  readonly patience: number;
}
