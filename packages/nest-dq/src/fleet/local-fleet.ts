import type { MemoryLedger } from '../ledger/memory/memory-ledger.js';
import type { Fleet } from './fleet.js';
import { LocalActs } from './local-acts.js';
import { LocalHistory } from './local-history.js';
import { LocalPresence } from './local-presence.js';

/** A fleet of one process, or of the applications that share a test kit. Only the acts are stored, if the ledger has a disk. */
export class LocalFleet implements Fleet {
  readonly presence: LocalPresence;
  readonly history: LocalHistory;
  readonly acts: LocalActs;

  constructor({ now, disk }: Pick<MemoryLedger, 'now'> & Partial<Pick<MemoryLedger, 'disk'>>) {
    this.presence = new LocalPresence(now);
    this.history = new LocalHistory(now);
    this.acts = new LocalActs(now, disk);
  }

  /** Loads the disk, which must be open. Rejects with `DQ_DISK`. */
  load(): Promise<void> {
    return this.acts.load();
  }
}
