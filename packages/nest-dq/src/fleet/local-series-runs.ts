import type { Disk, DiskPart } from '../disk/disk.js';
import { VALUE, type DiskBatch } from '../disk/entries.js';
import { stored } from '../ledger/memory/durable-records.js';
import { KEPT_MS, MAX_SERIES, type SeriesRuns, type StoredSeriesRun } from './series-runs.js';

/** `series <tube>` holds a `StoredSeriesRun` without its tube, in JSON. */
const SERIES = 'series ';

type Kept = Omit<StoredSeriesRun, 'tube'>;

/** The last runs of series in the memory of one process, and on its disk if it has one. */
export class LocalSeriesRuns implements SeriesRuns, DiskPart {
  private readonly runs = new Map<string, Kept>();
  private readonly unsaved = new Set<string>();

  /** @param now Ledger time in ms. */
  constructor(
    readonly now: () => number,
    private readonly disk?: Disk,
  ) {
    disk?.add(this);
  }

  /** Loads the runs from the disk. Rejects with `DQ_DISK`. */
  async load(): Promise<void> {
    await this.disk?.read(
      SERIES,
      (tube, value) => void this.runs.set(tube, JSON.parse(value.toString('utf8', VALUE)) as Kept),
    );
  }

  async put(runs: readonly StoredSeriesRun[]): Promise<void> {
    this.disk?.checkOpen();
    for (const { tube, ...run } of runs) {
      const known = this.runs.get(tube);
      if (!known || known.endedAt <= run.endedAt) this.change(tube, run);
    }
    const latest = Array.from(this.runs).toSorted(([, a], [, b]) => b.endedAt - a.endedAt);
    latest.forEach(([tube, run], i) => {
      if (i >= MAX_SERIES || !this.isKept(run)) this.change(tube, undefined);
    });
    if (this.disk) await stored(this.disk);
  }

  read(): Promise<string[]> {
    const kept = [...this.runs.values()].filter((run) => this.isKept(run));
    return Promise.resolve(kept.map(({ text }) => text));
  }

  collect(batch: DiskBatch): void {
    for (const tube of this.unsaved) {
      const run = this.runs.get(tube);
      if (run) batch.putText(SERIES + tube, JSON.stringify(run));
      else batch.delete(SERIES + tube);
    }
    this.unsaved.clear();
  }

  private isKept({ endedAt }: Kept): boolean {
    return endedAt >= this.now() - KEPT_MS;
  }

  private change(tube: string, run: Kept | undefined): void {
    if (run) this.runs.set(tube, run);
    else this.runs.delete(tube);
    if (!this.disk) return;
    this.unsaved.add(tube);
    this.disk.changed();
  }
}
