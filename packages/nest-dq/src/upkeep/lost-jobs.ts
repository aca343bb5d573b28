import { storedTube } from '../api/tube.js';
import { openHeaderOf } from '../copies/formats/unwrap.js';
import { isCopyOf } from '../copies/header.js';
import type { LostJob } from '../events/events.js';
import type { WaitingJob, WaitingJobs, WaitingPosition } from '../ledger/waiting/waiting-jobs.js';
import type { ConsumerParts } from '../consumer/tube-context.js';
import { TubeRounds, type RoundTimes } from './tube-rounds.js';

export interface LostJobsTimes extends RoundTimes {
  /** How overdue a job must be to be checked, in ms: by then its backups have surfaced, and leases have ended. */
  readonly overdue: number;
}

const TIMES: LostJobsTimes = { firstAfter: 30_000, every: 60_000, overdue: 300_000 };
/** Jobs checked per round and tube. */
const MAX_IN_A_ROUND = 128;
/** Number of reported jobs that are remembered. */
const MAX_TOLD = 10_000;

/** Lost jobs a process has found since its start. */
export interface LostJobsFound {
  readonly count: number;
  readonly latest: LostJob;
}

/**
 * Checks about every minute whether jobs are lost, in all tubes that a process consumes: among the long overdue jobs of the list,
 * oldest first, some in each round. A job is lost if every server that stored a copy of it has been replaced by one without that
 * copy. It changes nothing: the job stays listed, and runs if a copy comes back after all.
 */
export class LostJobs {
  found: LostJobsFound | undefined;
  /** Where the next round continues, by tube. */
  private readonly positions = new Map<string, WaitingPosition>();
  private readonly reported = new Set<string>();
  private readonly rounds: TubeRounds;

  constructor(
    private readonly prefix: string,
    private readonly parts: Pick<ConsumerParts, 'cluster' | 'ledger' | 'clock' | 'report' | 'events'>,
    /** A list of jobs whose copies may be gone. */
    private readonly waiting: WaitingJobs,
    /** Returns the tubes without the prefix. */
    tubes: () => Iterable<string>,
    private readonly times = TIMES,
  ) {
    // A ledger that doesn't answer is already reported, and the next round tries again.
    const look = (tube: string) => this.look(tube).catch(() => undefined);
    this.rounds = new TubeRounds(parts.clock, times, tubes, look);
  }

  /** Idempotent; does nothing after `close`. */
  start(): void {
    this.rounds.start();
  }

  /** Reports nothing more. Idempotent, also before `start`. */
  close(): Promise<void> {
    return this.rounds.close();
  }

  private async look(tube: string): Promise<void> {
    const storedAs = storedTube(tube, this.prefix);
    const ledger = this.parts.ledger.tube(storedAs);
    if (ledger.away || this.rounds.closed) return;
    const to = ledger.now() - this.times.overdue;
    const after = this.positions.get(tube);
    const { jobs, next } = await this.waiting.page(storedAs, {
      to,
      limit: MAX_IN_A_ROUND,
      ...(after && { after }),
    });
    if (next) this.positions.set(tube, next);
    else this.positions.delete(tube);
    for (const job of jobs) {
      const name = `${tube} ${job.id} ${job.generation}`;
      if (this.rounds.closed || this.reported.has(name) || !(await this.hasNoCopy(job))) continue;
      // It may have been claimed, moved or revoked since the list was read.
      const now = await this.waiting.find(storedAs, job.id);
      const isSame = now?.generation === job.generation && now.due === job.due && now.attempt === job.attempt;
      if (isSame && !this.rounds.closed) this.report(name, tube, job);
    }
  }

  private async hasNoCopy({ id, generation, places }: WaitingJob): Promise<boolean> {
    // If the primary isn't known, its siblings may not be known either.
    if (!places.some(({ index }) => index === 0)) return false;
    for (const { index, location } of places) {
      const isSame = (body: Buffer) => {
        const header = openHeaderOf(body);
        return header !== undefined && isCopyOf({ header }, id, generation, index);
      };
      if (!(await this.parts.cluster.hasLost(location, isSame))) return false;
    }
    return true;
  }

  private report(name: string, tube: string, { id, due, attempt, places }: WaitingJob): void {
    this.reported.add(name);
    if (this.reported.size > MAX_TOLD) this.reported.delete(this.reported.values().next().value!);
    const latest = { tube, id, dueAt: new Date(due), attempt, copies: places.length };
    this.found = { count: (this.found?.count ?? 0) + 1, latest };
    this.parts.report.lost(latest);
    this.parts.events.emit('lost', latest);
  }
}
