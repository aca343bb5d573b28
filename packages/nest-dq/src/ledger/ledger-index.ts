import type { StoredTube } from '../api/tube.js';
import { toError } from '../errors.js';
import type { Ledger, TubeLedger } from './ledger.js';
import type { Schedule, Tally } from './requests.js';
import type {
  WaitingCounts,
  WaitingJob,
  WaitingJobs,
  WaitingList,
  WaitingPage,
} from './waiting/waiting-jobs.js';

/**
 * The waiting jobs according to the ledger's index. Producers update it after their adds, and it is bounded, so some jobs may be
 * missing.
 */
export class LedgerIndex implements WaitingJobs {
  readonly complete = false;
  /** Tubes for which an unreadable job was already logged. */
  private readonly warned = new Set<StoredTube>();

  constructor(
    private readonly ledger: Pick<Ledger, 'tube'>,
    /** Called for the first unreadable record of each tube. */
    private readonly warn: (message: string) => void = () => undefined,
  ) {}

  async page(tube: StoredTube, page: WaitingPage): Promise<WaitingList> {
    const ledger = this.ledger.tube(tube);
    const [list] = await ledger.ask('waiting', [page]);
    const { ids, more } = list!;
    // A record knows more than the index. Finished jobs leave the index here.
    const schedules = await this.locate(
      ledger,
      tube,
      ids.map(({ id }) => id),
    );
    const jobs = schedules.flatMap((schedule, i) => waitingJob(ids[i]!.id, schedule) ?? []);
    const next = more ? ids.at(-1) : undefined;
    return next ? { jobs, next } : { jobs };
  }

  async counts(tube: StoredTube): Promise<WaitingCounts> {
    const { before: _before, ...counts } = await this.tally(tube, []);
    return counts;
  }

  async dueBefore(tube: StoredTube, times: readonly number[]): Promise<readonly number[]> {
    const { before } = await this.tally(tube, times);
    return before;
  }

  async find(tube: StoredTube, id: string): Promise<WaitingJob | undefined> {
    const [schedule] = await this.ledger.tube(tube).ask('locate', [id]);
    return waitingJob(id, schedule);
  }

  /** Skips a job whose record can't be read, because another program wrote it: it hides no other job. */
  private async locate(
    ledger: TubeLedger,
    tube: StoredTube,
    ids: readonly string[],
  ): Promise<(Schedule | undefined)[]> {
    try {
      return await ledger.ask('locate', ids);
    } catch (thrown) {
      if (ledger.away) throw thrown;
    }
    const each = await Promise.allSettled(ids.map((id) => ledger.ask('locate', [id])));
    return each.map((result, i) => {
      if (result.status === 'fulfilled') return result.value[0];
      if (ledger.away) throw result.reason;
      this.warnOnce(tube, ids[i]!, toError(result.reason));
      return undefined;
    });
  }

  private warnOnce(tube: StoredTube, id: string, { message }: Error): void {
    if (this.warned.has(tube)) return;
    this.warned.add(tube);
    this.warn(`the list of ${tube} omits job ${id}, whose record cannot be read: ${message}`);
  }

  private async tally(tube: StoredTube, times: readonly number[]): Promise<Tally> {
    const [tally] = await this.ledger.tube(tube).ask('tally', [{ times }]);
    return tally!;
  }
}

function waitingJob(id: string, schedule: Schedule | undefined): WaitingJob | undefined {
  if (schedule?.state !== 'waiting') return undefined;
  const { due, born, generation, attempt, places } = schedule;
  return { id, due, born, generation, attempt, places };
}
