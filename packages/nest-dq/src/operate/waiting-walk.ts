import type { StoredTube } from '../api/tube.js';
import type {
  WaitingJob,
  WaitingJobs,
  WaitingPage,
  WaitingPosition,
} from '../ledger/waiting/waiting-jobs.js';
import { someAtOnce } from './bulk.js';

/** A waiting job, and where it is. */
export interface TubeJob {
  readonly tube: StoredTube;
  readonly job: WaitingJob;
}

/** Tubes asked concurrently. */
const AT_ONCE = 50;

/** The page of a tube that is being walked through, and the index of its next job. */
interface Head {
  readonly tube: StoredTube;
  jobs: readonly WaitingJob[];
  at: number;
  /** Where its next page continues. */
  next: WaitingPosition | undefined;
}

/**
 * The waiting jobs of several tubes together, by due time. It reads a page of the tube that has the next job. A page may have no job
 * although more follow, so the pages of a walk are limited, too.
 */
export class WaitingWalk {
  /** All jobs up to this position were yielded; undefined before the first one. */
  position: WaitingPosition | undefined;
  private heads: Head[] = [];

  constructor(
    private readonly waiting: Pick<WaitingJobs, 'page'>,
    private readonly query: Omit<WaitingPage, 'after'>,
    private pages: number,
  ) {}

  /** Reads the first page of each tube. Rejects with `DQ_LEDGER_DOWN`, `DQ_CLOSED`. */
  async begin(tubes: readonly StoredTube[], after: WaitingPosition | undefined): Promise<void> {
    this.position = after;
    await someAtOnce(tubes, AT_ONCE, async (tube) => {
      const { jobs, next } = await this.waiting.page(tube, { ...this.query, ...(after && { after }) });
      this.heads.push({ tube, jobs, at: 0, next });
    });
  }

  /** Whether more may follow. */
  get goesOn(): boolean {
    return this.heads.some((head) => placeOf(head) !== undefined);
  }

  /** Resolves with the next job; undefined after the last one, or the last page. Rejects as `begin` does. */
  async next(): Promise<TubeJob | undefined> {
    for (;;) {
      const head = this.first();
      if (!head) return undefined;
      const job = head.jobs[head.at];
      if (job) {
        head.at++;
        this.position = { due: job.due, id: job.id };
        return { tube: head.tube, job };
      }
      this.position = head.next;
      if (this.pages-- <= 0) return undefined;
      const page = await this.waiting.page(head.tube, { ...this.query, after: head.next! });
      Object.assign(head, { jobs: page.jobs, at: 0, next: page.next });
    }
  }

  /** The head whose next job, or page, is the first; undefined at the end. */
  private first(): Head | undefined {
    let best: Head | undefined;
    for (const head of this.heads) {
      const place = placeOf(head);
      if (place && (!best || isBefore(place, placeOf(best)!))) best = head;
    }
    return best;
  }
}

function placeOf({ jobs, at, next }: Head): WaitingPosition | undefined {
  return jobs[at] ?? next;
}

function isBefore(a: WaitingPosition, b: WaitingPosition): boolean {
  return a.due < b.due || (a.due === b.due && a.id < b.id);
}
