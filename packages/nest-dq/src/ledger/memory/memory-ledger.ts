import type { Disk } from '../../disk/disk.js';
import { DqError } from '../../errors.js';
import type { Clock } from '../../time/clock.js';
import { loadRecords } from './durable-records.js';
import { AHEAD, type Ledger, type LedgerListener, type LedgerSettings } from '../ledger.js';
import { MemoryTubeLedger, type MemoryTubes } from './memory-tube-ledger.js';
import { RecordsByTube } from './records-by-tube.js';

export interface MemoryLedgerOptions {
  readonly settings: LedgerSettings;
  readonly clock: Clock;
  /** Of its tubes, in ms. @default 0 in memory, where an answer takes no time; 20 on a disk */
  readonly ahead?: number;
}

/**
 * The ledger of one process, for the embedded node. On a disk it decides in memory, and answers once that is stored.
 * Its time starts as the machine's, or the disk's, and never jumps.
 */
export class MemoryLedger implements Ledger, MemoryTubes {
  readonly ahead: number;
  readonly now: () => number;
  readonly records: RecordsByTube;
  private closed = false;

  constructor(
    { settings, clock, ahead }: MemoryLedgerOptions,
    readonly disk?: Disk,
  ) {
    this.ahead = ahead ?? (disk ? AHEAD : 0);
    this.records = new RecordsByTube(settings, this.ahead, disk);
    const offset = clock.wall() - clock.now();
    this.now = disk ? () => disk.now() : () => clock.now() + offset;
  }

  /** With what is on an open disk, which is to be closed after the ledger. `DQ_DISK`: it cannot be read. */
  static async open(options: MemoryLedgerOptions, disk: Disk): Promise<MemoryLedger> {
    const ledger = new MemoryLedger(options, disk);
    await ledger.load();
    return ledger;
  }

  /** Reads what is on its disk, which is open by now, before anything is asked. `DQ_DISK`. */
  async load(): Promise<void> {
    if (this.disk) await loadRecords(this.disk, (tube) => this.records.of(tube));
  }

  tube(name: string): MemoryTubeLedger {
    return new MemoryTubeLedger(name, this);
  }

  start(): void {
    this.checkOpen();
  }

  /** It is never away, unless its disk fails: then for good. */
  listen(listener?: LedgerListener): () => void {
    return this.disk?.onFailure((failure) => listener?.away(failure, this.now())) ?? (() => undefined);
  }

  close(): Promise<void> {
    this.closed = true;
    return Promise.resolve();
  }

  checkOpen(): void {
    if (this.closed) throw new DqError('DQ_CLOSED', 'the ledger is closed');
    this.disk?.checkOpen();
  }
}
