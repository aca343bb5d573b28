import type { FinishedEntry, FinishedPosition } from '../requests.js';

/** Jobs removed by a call beyond as many as it adds, so that a lowered bound is reached soon and no call takes long. */
export const MORE_TRIMMED = 100;

/** A finished job in the memory ledger. */
export interface KeptFinished extends FinishedEntry {
  /** Ledger time in ms until which it is kept if no other job of its tube finishes. */
  readonly keptUntil: number;
}

/** The finished jobs of one tube, at most one for each id, in order of their ends. */
export class FinishedJobs {
  readonly byId = new Map<string, KeptFinished>();
  /** Oldest first; those of one millisecond by id. */
  readonly inOrder: KeptFinished[] = [];

  /** @param changed Called with the id of each job that was added or removed. */
  constructor(private readonly changed: (id: string) => void = () => undefined) {}

  /** Whether all are to be forgotten, because no job finished for long. */
  isOver(now: number): boolean {
    const last = this.inOrder.at(-1);
    return last !== undefined && last.keptUntil <= now;
  }

  /** Adds a job, in place of an earlier one with its id. */
  add(job: KeptFinished): void {
    const before = this.byId.get(job.id);
    if (before) this.inOrder.splice(this.countBefore(before), 1);
    this.byId.set(job.id, job);
    this.inOrder.splice(this.countBefore(job), 0, job);
    this.changed(job.id);
  }

  /** Adds those that were stored before, in any order. */
  load(jobs: readonly KeptFinished[]): void {
    for (const job of jobs) {
      this.byId.set(job.id, job);
      this.inOrder.push(job);
    }
    this.inOrder.sort((a, b) => a.ended - b.ended || (a.id < b.id ? -1 : 1));
  }

  /** Removes this many, the oldest first. */
  dropOldest(count: number): void {
    if (count <= 0) return;
    for (const { id } of this.inOrder.splice(0, count)) {
      this.byId.delete(id);
      this.changed(id);
    }
  }

  /** Number of jobs that come before this position. */
  countBefore({ ended, id }: FinishedPosition): number {
    let [low, high] = [0, this.inOrder.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const job = this.inOrder[middle]!;
      if (job.ended < ended || (job.ended === ended && job.id < id)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
