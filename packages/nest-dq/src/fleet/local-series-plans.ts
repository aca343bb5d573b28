import type { Disk, DiskPart } from '../disk/disk.js';
import { VALUE, type DiskBatch } from '../disk/entries.js';
import { stored } from '../ledger/memory/durable-records.js';
import {
  CHECK_AGAIN_MS,
  REMOVED,
  type PlanCheck,
  type PlanQuery,
  type PlanTexts,
  type SeriesPlans,
  type StoredSeries,
  type UpsertedPlan,
} from './series-plans.js';

/** `plan <name>` holds a `Kept` in JSON. */
const PLAN = 'plan ';

interface Kept {
  readonly entry: string;
  readonly run?: string | undefined;
  /** Ledger time in ms of the next check. */
  readonly check?: number | undefined;
  readonly missed?: number | undefined;
}

/** The plans of series in the memory of one process, and on its disk if it has one. */
export class LocalSeriesPlans implements SeriesPlans, DiskPart {
  private readonly plans = new Map<string, Kept>();
  private readonly unsaved = new Set<string>();
  /** Undefined if it must be sorted again. */
  private names: string[] | undefined;

  /** @param now Ledger time in ms. */
  constructor(
    readonly now: () => number,
    private readonly disk?: Disk,
  ) {
    disk?.add(this);
  }

  /** Loads the plans from the disk. Rejects with `DQ_DISK`. */
  async load(): Promise<void> {
    await this.disk?.read(
      PLAN,
      (name, value) => void this.plans.set(name, JSON.parse(value.toString('utf8', VALUE)) as Kept),
    );
  }

  async upsert(name: string, { spec, payload }: PlanTexts, startAt = 0): Promise<UpsertedPlan> {
    const before = this.plans.get(name)?.entry;
    const entry = `${Math.max(Math.floor(this.now()), startAt)} ${spec}\n${payload}`;
    const exists = before !== undefined && !isRemoved(before);
    if (exists && planOf(before) === planOf(entry)) return { status: 'unchanged', entry: before };
    await this.change(name, { ...this.plans.get(name), entry, check: this.soon, missed: undefined });
    const status = exists ? 'changed' : 'created';
    return { status, entry, ...(before !== undefined && { before }) };
  }

  get(name: string): Promise<StoredSeries | undefined> {
    return Promise.resolve(this.plans.has(name) ? this.seriesOf(name) : undefined);
  }

  page({ limit, prefix = '', after = '' }: PlanQuery): ReturnType<SeriesPlans['page']> {
    this.names ??= [...this.plans.keys()].filter((name) => !isRemoved(this.plans.get(name)!.entry)).sort();
    const { names } = this;
    const from = firstIndex(names, (name) => name >= prefix && name > after);
    const found = names.slice(from, from + limit).filter((name) => name.startsWith(prefix));
    return Promise.resolve({ total: names.length, series: found.map((name) => this.seriesOf(name)) });
  }

  async remove(name: string): Promise<string | undefined> {
    const before = this.plans.get(name)?.entry;
    if (before === undefined) return undefined;
    await this.change(name, { entry: REMOVED + planOf(before), check: this.soon });
    return isRemoved(before) ? undefined : before;
  }

  async forget(name: string): Promise<boolean> {
    const kept = this.plans.get(name);
    if (kept && !isRemoved(kept.entry)) return false;
    await this.change(name, undefined);
    return true;
  }

  async restore(name: string, entry: string): Promise<void> {
    if (!this.plans.has(name)) await this.change(name, { entry, check: this.soon });
  }

  async take(limit: number): Promise<StoredSeries[]> {
    const now = this.now();
    const due = Array.from(this.plans)
      .filter(([, { check }]) => check !== undefined && check <= now)
      .sort(([, a], [, b]) => a.check! - b.check!)
      .slice(0, limit);
    // All before the first wait, so that no other call takes one of them.
    await Promise.all(due.map(([name, kept]) => this.change(name, { ...kept, check: this.soon })));
    return due.map(([name]) => this.seriesOf(name));
  }

  async checked(name: string, entry: string, { next, missedSince }: PlanCheck): Promise<string | undefined> {
    const kept = this.plans.get(name);
    if (kept?.entry !== entry) return kept?.entry ?? '';
    await this.change(name, { ...kept, check: next, missed: missedSince });
    return undefined;
  }

  missed(limit: number): Promise<StoredSeries[]> {
    const found = Array.from(this.plans)
      .filter(([, { missed }]) => missed !== undefined)
      .sort(([, a], [, b]) => a.missed! - b.missed!);
    return Promise.resolve(found.slice(0, limit).map(([name]) => this.seriesOf(name)));
  }

  async ran(runs: readonly { readonly name: string; readonly text: string }[]): Promise<void> {
    for (const { name, text } of runs) {
      const kept = this.plans.get(name);
      if (kept && !isRemoved(kept.entry)) await this.change(name, { ...kept, run: text });
    }
  }

  collect(batch: DiskBatch): void {
    for (const name of this.unsaved) {
      const kept = this.plans.get(name);
      if (kept) batch.putText(PLAN + name, JSON.stringify(kept));
      else batch.delete(PLAN + name);
    }
    this.unsaved.clear();
  }

  private get soon(): number {
    return Math.floor(this.now()) + CHECK_AGAIN_MS;
  }

  private seriesOf(name: string): StoredSeries {
    const { entry, run } = this.plans.get(name)!;
    return { name, entry, ...(run !== undefined && { run }) };
  }

  private async change(name: string, kept: Kept | undefined): Promise<void> {
    this.disk?.checkOpen();
    const before = this.plans.get(name);
    if (!before || !kept || isRemoved(before.entry) !== isRemoved(kept.entry)) this.names = undefined;
    if (kept) this.plans.set(name, kept);
    else this.plans.delete(name);
    if (!this.disk) return;
    this.unsaved.add(name);
    this.disk.changed();
    await stored(this.disk);
  }
}

function isRemoved(entry: string): boolean {
  return entry.startsWith(REMOVED);
}

/** All but the time at which it began. */
function planOf(entry: string): string {
  return entry.slice(entry.indexOf(' '));
}

/** By bisection; the length if there is none. */
function firstIndex(sorted: readonly string[], isIn: (each: string) => boolean): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isIn(sorted[middle]!)) high = middle;
    else low = middle + 1;
  }
  return low;
}
