import type { Disk, DiskPart } from '../../disk/disk.js';
import type { DiskBatch } from '../../disk/entries.js';
import { collectRecords } from './durable-records.js';
import type { LedgerSettings } from '../ledger.js';
import { Records, type Moment } from '../rules/records.js';

/** Records looked at for each one asked for: more than one, so that the expired never pile up. */
const SWEPT = 2;

/** What the memory ledger keeps of all tubes. Of one without any nothing stays. */
export class RecordsByTube implements DiskPart {
  private readonly byName = new Map<string, Records>();
  private sweeping = this.byName.entries();
  private swept: [name: string, records: Records] | undefined;

  constructor(
    private readonly settings: LedgerSettings,
    /** Milliseconds before its due time from which on a run is granted. */
    private readonly ahead: number,
    private readonly disk?: Disk,
  ) {
    disk?.add(this);
  }

  /** Not to be kept beyond the turn of the event loop: what is empty is forgotten, and made anew. */
  of(name: string): Records {
    let records = this.byName.get(name);
    if (!records) {
      const { disk } = this;
      records = new Records(this.settings, this.ahead, disk && (() => disk.changed()));
      this.byName.set(name, records);
    }
    return records;
  }

  /** Undefined: it has none. */
  find(name: string): Records | undefined {
    return this.byName.get(name);
  }

  /** When the next pause ends by itself, ledger time; Infinity if none does. */
  nextPauseEnd(now: number): number {
    const ends = Array.from(this.byName.values(), ({ pauses }) => pauses.at(-1)?.to ?? Infinity);
    return Math.min(...ends.filter((end) => end > now));
  }

  /**
   * Removes some of what has expired, for so many records that a call asks for: of all tubes in turn, as nobody may ask for
   * some of them any more.
   */
  sweep(asked: number, time: Moment): void {
    for (let left = asked * SWEPT; left > 0; left--) {
      if (this.swept?.[1].sweepNext(time)) continue;
      this.forgetEmpty();
      const next = this.sweeping.next();
      if (next.done) this.sweeping = this.byName.entries();
      this.swept = next.value;
    }
  }

  collect(batch: DiskBatch): void {
    for (const [name, records] of this.byName) collectRecords(batch, name, records);
  }

  /** The tube that was swept last. */
  private forgetEmpty(): void {
    if (!this.swept) return;
    const [name, { byId, letters, index, pauses, limitUse, unsaved }] = this.swept;
    const { turn, running } = limitUse;
    const stored = byId.size + letters.size + index.size + pauses.length + turn + running.size;
    const size = stored + unsaved.records.size + unsaved.letters.size;
    if (size === 0 && !unsaved.pauses && !unsaved.turn) this.byName.delete(name);
  }
}
