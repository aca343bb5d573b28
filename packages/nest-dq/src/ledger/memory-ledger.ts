import type { Disk } from '../disk/disk.js';
import { DqError } from '../errors.js';
import type { Clock } from '../time.js';
import { loadRecords } from './kept-records.js';
import type { Ledger, LedgerListener, LedgerSettings } from './ledger.js';
import { MemoryTubeLedger } from './memory-tube-ledger.js';

export interface MemoryLedgerOptions {
  readonly settings: LedgerSettings;
  readonly clock: Clock;
  /** Of its tubes, in ms. @default 0 in memory, where an answer takes no time */
  readonly ahead?: number;
}

/**
 * The ledger of one process, for the embedded node; on a disk it decides in memory and answers when that is kept.
 * Its time starts as the machine's, or the disk's, and never jumps.
 */
export class MemoryLedger implements Ledger {
  private readonly tubes = new Map<string, MemoryTubeLedger>();
  private readonly now: () => number;
  private closed = false;

  constructor(
    private readonly options: MemoryLedgerOptions,
    private readonly disk?: Disk,
  ) {
    const { clock } = options;
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
    if (this.disk) await loadRecords(this.disk, (tube) => this.tube(tube).records);
  }

  tube(name: string): MemoryTubeLedger {
    let tube = this.tubes.get(name);
    if (!tube) {
      tube = new MemoryTubeLedger(name, this.options, this.now, () => this.checkOpen(), this.disk);
      this.tubes.set(name, tube);
    }
    return tube;
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

  private checkOpen(): void {
    if (this.closed) throw new DqError('DQ_CLOSED', 'the ledger is closed');
    this.disk?.checkOpen();
  }
}
