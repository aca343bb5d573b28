import type { StoredTube } from '../api/tube.js';
import { identify, openHeaderOf } from '../copies/formats/unwrap.js';
import type { JobIdentity } from '../copies/header.js';
import { formatLocation } from '../copies/location.js';
import { dueByPriority } from '../copies/timing.js';
import type { MemoryLedger } from '../ledger/memory/memory-ledger.js';
import type {
  WaitingCounts,
  WaitingJob,
  WaitingJobs,
  WaitingList,
  WaitingPage,
  WaitingPosition,
} from '../ledger/waiting/waiting-jobs.js';
import type { InProcessNode } from './in-process-node.js';
import type { Job } from './tubes.js';

/** The node with this endpoint. */
export interface NamedNode {
  readonly endpoint: string;
  readonly node: InProcessNode;
}

/** A copy of a waiting job. */
interface WaitingCopy {
  readonly identity: JobIdentity;
  readonly as: Pick<WaitingJob, 'due' | 'attempt'>;
  readonly stored: Job;
  readonly on: NamedNode;
}

/**
 * Lists the waiting jobs of embedded nodes from the stored jobs, so nothing is kept twice and no job is missing. Each call walks
 * through all jobs of the nodes, in portions, one call at a time. It parses the headers of candidates only.
 */
export class StoredWaitingJobs implements WaitingJobs {
  readonly complete = true;
  private walked: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly nodes: readonly NamedNode[],
    private readonly ledger: MemoryLedger,
  ) {}

  async page(tube: StoredTube, { from, to, after, limit }: WaitingPage): Promise<WaitingList> {
    const first = new FirstJobs({ from, to, after, limit });
    const wanted = ({ pri, reserves }: Job) => {
      const [earliest, end] = dueByPriority(pri);
      // A job that was reserved may wait for a retry, later than its copy says.
      return first.wants(earliest, reserves > 0 ? Infinity : end);
    };
    await this.eachCopy(tube, wanted, (copy) => first.add(foundJob(copy)));
    return first.list((job) => this.waits(tube, job) !== undefined);
  }

  async counts(tube: StoredTube): Promise<WaitingCounts> {
    const now = this.ledger.now();
    let [listed, overdue, retrying, firstDue] = [0, 0, 0, Infinity];
    await this.eachJob(tube, ({ due, attempt }) => {
      listed++;
      if (due <= now) overdue++;
      if (attempt > 0) retrying++;
      firstDue = Math.min(firstDue, due);
    });
    return { listed, overdue, retrying, ...(listed > 0 && { firstDue }) };
  }

  async dueBefore(tube: StoredTube, times: readonly number[]): Promise<readonly number[]> {
    const ascending = [...new Set(times)].sort((a, b) => a - b);
    /** Number of jobs due before the time at this index, and not before the previous one. */
    const added = ascending.map(() => 0);
    await this.eachJob(tube, ({ due }) => {
      const index = indexAfter(ascending, due);
      if (index < added.length) added[index]!++;
    });
    let sum = 0;
    const before = new Map(ascending.map((time, i) => [time, (sum += added[i]!)]));
    return times.map((time) => before.get(time)!);
  }

  async find(tube: StoredTube, id: string): Promise<WaitingJob | undefined> {
    const first = new FirstJobs({ limit: 1 });
    await this.eachCopy(
      tube,
      ({ body }) => identify(body)?.id === id,
      (copy) => first.add(foundJob(copy)),
    );
    return first.list((job) => this.waits(tube, job) !== undefined).jobs[0];
  }

  /** Calls `see` with the due time and the number of runs of each job. */
  private async eachJob(tube: StoredTube, see: (as: WaitingCopy['as']) => void): Promise<void> {
    const seen = new Set<string>();
    const isNew = (id: string) => {
      if (this.nodes.length === 1) return true; // it has one copy of a job
      return !seen.has(id) && seen.add(id);
    };
    await this.eachCopy(
      tube,
      () => true,
      ({ identity, as }) => {
        if (isNew(identity.id)) see(as);
      },
    );
  }

  /** Calls `see` for each waiting copy. */
  private eachCopy(
    tube: StoredTube,
    wanted: (job: Job) => boolean,
    see: (copy: WaitingCopy) => void,
  ): Promise<void> {
    const walk = async () => {
      for (const on of this.nodes) {
        await on.node.eachJob(tube, (stored) => {
          if (stored.state === 'buried' || !wanted(stored)) return;
          const identity = identify(stored.body);
          const as = identity && this.waits(tube, identity);
          if (as) see({ identity, as, stored, on });
        });
      }
    };
    const walked = this.walked.then(walk);
    this.walked = walked.catch(() => undefined);
    return walked;
  }

  /** Returns the due time and the number of runs; undefined if the job runs, has ended or is dead, or another of its generations counts. */
  private waits(tube: StoredTube, { id, generation, due }: JobIdentity): WaitingCopy['as'] | undefined {
    const ledger = this.ledger.tube(tube);
    const known = ledger.look(id);
    if (!known) return ledger.isVoid(id, generation) ? undefined : { due, attempt: 0 };
    if (known.state !== 'waiting' || known.generation !== generation) return undefined;
    return { due: known.due, attempt: known.attempt };
  }
}

function foundJob({ identity, as, stored: { id, body }, on: { endpoint, node } }: WaitingCopy): FoundJob {
  return {
    ...identity,
    ...as,
    copies: [{ location: formatLocation(endpoint, node.instance, `${id}`), body }],
  };
}

/** Index of the first of these times that is later. */
function indexAfter(ascending: readonly number[], time: number): number {
  let [low, high] = [0, ascending.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ascending[middle]! > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** A copy of a waiting job. */
interface FoundCopy {
  readonly location: string;
  /** latin1, one character per byte. */
  readonly body: string;
}

/** A waiting job, and copies of it. */
interface FoundJob extends Omit<WaitingJob, 'places'> {
  readonly copies: readonly FoundCopy[];
}

/** Collects the jobs of a page from copies in any order. It keeps at most two pages. */
class FirstJobs {
  private jobs = new Map<string, FoundJob>();
  /** The last job of the page, as far as known: whatever comes after it is on a later page. */
  private last: WaitingPosition | undefined;
  private more = false;
  private readonly from: number;
  private readonly to: number;

  constructor(private readonly page: WaitingPage) {
    const { from = -Infinity, to = Infinity, after } = page;
    this.from = Math.max(from, after?.due ?? -Infinity);
    this.to = to;
  }

  /** Whether a job due between `earliest` and `end` (exclusive) may belong to the page. */
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

  /** @param waits Whether the job is unchanged. */
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

/** Returns nothing if its header can't be read: its copy will be buried. */
function withPlaces({ copies, ...job }: FoundJob): WaitingJob[] {
  const places = copies.flatMap(({ location, body }) => {
    const header = openHeaderOf(Buffer.from(body, 'latin1'));
    return header ? [{ index: header.index, location }] : [];
  });
  return places.length > 0 ? [{ ...job, places: places.sort((a, b) => a.index - b.index) }] : [];
}
