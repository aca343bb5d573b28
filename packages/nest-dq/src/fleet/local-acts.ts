import type { Disk, DiskPart } from '../disk/disk.js';
import { VALUE, type DiskBatch } from '../disk/entries.js';
import { MAX_ACTS, type Acts, type StoredAct } from './acts.js';
import { stored } from '../ledger/memory/durable-records.js';

/** `act <place>` holds the string of an act. Places are padded to this many digits, so that the folder sorts them. */
const ACT = 'act ';
const DIGITS = 16;

/** The acts in the memory of one process, and on its disk if it has one. */
export class LocalActs implements Acts, DiskPart {
  /** By place, oldest first. */
  private readonly acts = new Map<number, string>();
  private readonly unsaved = new Set<number>();
  private last = 0;

  /** @param now Ledger time in ms. */
  constructor(
    readonly now: () => number,
    private readonly disk?: Disk,
  ) {
    disk?.add(this);
  }

  /** Loads the acts from the disk. Rejects with `DQ_DISK`. */
  async load(): Promise<void> {
    await this.disk?.read(ACT, (place, value) => this.put(Number(place), value.toString('utf8', VALUE)));
  }

  async add(acts: readonly string[]): Promise<void> {
    this.disk?.checkOpen();
    const known = new Set(this.acts.values());
    for (const act of acts) if (!known.has(act)) this.change(this.last + 1, act);
    for (const [oldest] of this.acts) {
      if (this.acts.size <= MAX_ACTS) break;
      this.change(oldest, undefined);
    }
    if (this.disk) await stored(this.disk);
  }

  read(before: number | undefined, limit: number): Promise<StoredAct[]> {
    const earlier = Array.from(this.acts, ([place, text]) => ({ place, text }))
      .filter(({ place }) => before === undefined || place < before)
      .toReversed();
    return Promise.resolve(earlier.slice(0, limit));
  }

  collect(batch: DiskBatch): void {
    for (const place of this.unsaved) {
      const key = ACT + String(place).padStart(DIGITS, '0');
      const text = this.acts.get(place);
      if (text === undefined) batch.delete(key);
      else batch.putText(key, text);
    }
    this.unsaved.clear();
  }

  private change(place: number, text: string | undefined): void {
    if (text === undefined) this.acts.delete(place);
    else this.put(place, text);
    if (!this.disk) return;
    this.unsaved.add(place);
    this.disk.changed();
  }

  private put(place: number, text: string): void {
    this.acts.set(place, text);
    this.last = place;
  }
}
