import { openHeaderOf } from '../copies/formats/unwrap.js';
import type { WaitingJob, WaitingList, WaitingPage, WaitingPosition } from '../ledger/waiting-jobs.js';

/** A copy of a job that waits. */
export interface FoundCopy {
  readonly location: string;
  /** latin1, a character a byte. */
  readonly body: string;
}

/** A job that waits, and copies of it. */
export interface FoundJob extends Omit<WaitingJob, 'places'> {
  readonly copies: readonly FoundCopy[];
}

/** Picks the jobs of a page from copies that come in any order. It keeps two pages at most. */
export class FirstJobs {
  private jobs = new Map<string, FoundJob>();
  /** The last of the page, as far as it is known: whatever comes behind it is on a later page. */
  private last: WaitingPosition | undefined;
  private more = false;
  private readonly from: number;
  private readonly to: number;

  constructor(private readonly page: WaitingPage) {
    const { from = -Infinity, to = Infinity, after } = page;
    this.from = Math.max(from, after?.due ?? -Infinity);
    this.to = to;
  }

  /** Whether a job may belong to the page that is due at `earliest` or later, and before `end`. */
  wants(earliest: number, end: number): boolean {
    if (end <= this.from || earliest >= this.to) return false;
    if (this.last && earliest > this.last.due) return !(this.more = true);
    return true;
  }

  add(job: FoundJob): void {
    const { after, limit } = this.page;
    if (job.due < this.from || job.due >= this.to || (after && !isBefore(after, job))) return;
    if (this.last && isBefore(this.last, job)) return void (this.more = true);
    const known = this.jobs.get(job.id);
    if (known && known.generation > job.generation) return;
    const same = known?.generation === job.generation;
    this.jobs.set(job.id, same ? { ...known, copies: [...known.copies, ...job.copies] } : job);
    if (this.jobs.size > 2 * limit) this.cut();
  }

  /** @param waits Whether the job is the same still. */
  list(waits: (job: FoundJob) => boolean): WaitingList {
    const first = this.cut();
    const next = first.at(-1);
    const jobs = first.filter(waits).flatMap(withPlaces);
    return this.more && next ? { jobs, next: { due: next.due, id: next.id } } : { jobs };
  }

  private cut(): readonly FoundJob[] {
    const { limit } = this.page;
    const inOrder = [...this.jobs.values()].sort((a, b) => (isBefore(a, b) ? -1 : 1));
    const first = inOrder.slice(0, limit);
    if (inOrder.length > limit) {
      this.more = true;
      this.last = first.at(-1);
    }
    this.jobs = new Map(first.map((job) => [job.id, job]));
    return first;
  }
}

function isBefore(a: WaitingPosition, b: WaitingPosition): boolean {
  return a.due < b.due || (a.due === b.due && a.id < b.id);
}

/** None, if its header cannot be read: its copy will be buried. */
function withPlaces({ copies, ...job }: FoundJob): WaitingJob[] {
  const places = copies.flatMap(({ location, body }) => {
    const header = openHeaderOf(Buffer.from(body, 'latin1'));
    return header ? [{ index: header.index, location }] : [];
  });
  return places.length > 0 ? [{ ...job, places: places.sort((a, b) => a.index - b.index) }] : [];
}
