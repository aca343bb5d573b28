import type { MemoryLedger } from '../ledger/memory/memory-ledger.js';
import type { Fleet } from './fleet.js';
import { LocalActs } from './local-acts.js';
import { LocalEventLog } from './local-event-log.js';
import { LocalHistory } from './local-history.js';
import { LocalPresence } from './local-presence.js';
import { LocalSeriesPlans } from './local-series-plans.js';
import { LocalSeriesRuns } from './local-series-runs.js';

/** A fleet of one process, or of the applications that share a test kit. Acts and the runs of series are stored, if the ledger has a disk. */
export class LocalFleet implements Fleet {
  readonly presence: LocalPresence;
  readonly history: LocalHistory;
  readonly acts: LocalActs;
  readonly eventLog: LocalEventLog;
  readonly seriesRuns: LocalSeriesRuns;
  readonly seriesPlans: LocalSeriesPlans;

  constructor({ now, disk }: Pick<MemoryLedger, 'now'> & Partial<Pick<MemoryLedger, 'disk'>>) {
    this.presence = new LocalPresence(now);
    this.history = new LocalHistory(now);
    this.acts = new LocalActs(now, disk);
    this.eventLog = new LocalEventLog(now);
    this.seriesRuns = new LocalSeriesRuns(now, disk);
    this.seriesPlans = new LocalSeriesPlans(now, disk);
  }

  /** Loads the disk, which must be open. Rejects with `DQ_DISK`. */
  async load(): Promise<void> {
    await this.acts.load();
    await this.seriesRuns.load();
    await this.seriesPlans.load();
  }
}
