// ◆ marks a rule of docs/internals/delivery.md.
import { showInstant } from 'nest-handlers/time';
import {
  announcedBy,
  envelopeFor,
  refuseTooLarge,
  storeCopies,
  announcedGeneration,
  tooFewOf,
} from '../../copies/storing.js';
import { LONGEST_DELAY_S } from '../../copies/timing.js';
import { jobHeader, type WrittenJob } from '../../copies/header.js';
import { DqError, toError } from '../../errors.js';
import { RetryingBatcher } from '../../ledger/batcher.js';
import type { AnnouncedGeneration, OpenAnswer } from '../../ledger/requests.js';
import type { Completion, RunOutcome } from '../run/outcome.js';
import type { Run } from '../run/run.js';
import type { TubeContext } from '../tube-context.js';
import type { CopyDeleter } from './copy-deleter.js';

/** Result of an `Again`: a completion, a failure of the run, or nothing if another run has taken over. */
export type AfterAgain =
  | Completion
  | { readonly kind: 'failed'; readonly error: Error }
  | { readonly kind: 'lost' };

type Decide = (next: AfterAgain) => void;

interface Opening {
  readonly run: Run;
  readonly due: number;
  readonly decide: Decide;
}

/** Min delay between runs if `Again.at` is in the past. Without it, such runs would form a hot loop. */
const LEAST_STEP_MS = 1_000;
/** Stands in for a generation that wasn't opened. */
const NOT_OPENED = { generation: -1, announced: 0, owed: { mask: 0, unknown: false }, places: [] } as const;

/**
 * Schedules the next run of a job whose run succeeded with an `Again`: the ledger opens a new generation, its copies are stored,
 * and the run's completion then commits it in place of the old one. Until then, claims of the new generation have to wait. If too
 * few nodes store it, the old generation continues, as after a retry: a successful run isn't repeated because nodes are
 * unreachable ◆.
 */
export class AgainScheduler {
  private readonly openings: RetryingBatcher<Opening, OpenAnswer>;
  /** Runs whose next generation is being stored. */
  private readonly storing = new Map<Run, { readonly next: AnnouncedGeneration; readonly decide: Decide }>();

  constructor(
    private readonly context: TubeContext,
    private readonly deleter: CopyDeleter,
  ) {
    const { tube, ledger, cluster, clock, report } = context;
    this.openings = new RetryingBatcher(ledger, clock, {
      call: (openings) =>
        ledger.open(
          openings.map(({ run, due }) => ({
            id: run.id,
            opening: { by: 'again', run: run.ref },
            due,
            announced: announcedBy(cluster),
          })),
        ),
      answered: (opening, answer) => this.opened(opening, answer),
      trouble: ({ run }, error) => report.ledgerTrouble(tube, run.id, error),
    });
  }

  /** Resolves with what follows; never settles after `close`. */
  schedule(run: Run, again: Extract<RunOutcome, { kind: 'again' }>): Promise<AfterAgain> {
    return new Promise((decide) => this.begin(run, again, decide));
  }

  private begin(run: Run, { delay, at }: Extract<RunOutcome, { kind: 'again' }>, decide: Decide): void {
    const { tube, ledger, report } = this.context;
    const now = ledger.now();
    const isOver = delay === 0 && at !== 0 && at < now;
    const least = run.grant.due + LEAST_STEP_MS;
    if (isOver && least > now) report.instantOver(tube, run.id, new Date(at));
    // A time that has passed during the run is kept: it is the occurrence that the next run is for.
    const started = run.grant.due + (run.job?.lateness ?? 0);
    const due = Math.ceil(isOver ? Math.max(at < started ? now : at, least) : Math.max(now + delay, at));
    if (due - now > LONGEST_DELAY_S * 1000) {
      const fact = `Again is due at ${showInstant(due)}: expected within ${LONGEST_DELAY_S} s`;
      return decide({ kind: 'failed', error: new DqError('DQ_TOO_FAR', fact) });
    }
    const why = this.whyNot(run, due);
    if (why === undefined) this.openings.add({ run, due, decide });
    else decide(this.notStored(run, { ...NOT_OPENED, due }, why));
  }

  flush(): void {
    this.openings.flush();
  }

  /** Stops asking the ledger. No claim starts an uncommitted generation while the run's record forbids it. */
  close(): void {
    this.openings.close();
  }

  /** Stops waiting for the nodes: the jobs continue as their old generations. */
  stopStoring(): void {
    for (const { next, decide } of this.storing.values()) decide({ kind: 'later', next });
    this.storing.clear();
  }

  /** Returns the reason not to try storing at all, as shown to people; undefined if there is none. */
  private whyNot(run: Run, due: number): string | undefined {
    const { cluster } = this.context;
    const { minWritten } = cluster.settings;
    const writable = cluster.nodes.filter((node) => node.writable).length;
    if (writable < minWritten)
      return `${writable} of ${cluster.nodes.length} nodes accept jobs, need ${minWritten}`;
    try {
      // The header grows by a generation number, which has as many digits as the due time.
      refuseTooLarge(cluster, this.envelopeOf(run, due, due));
      return undefined;
    } catch (error) {
      return toError(error).message;
    }
  }

  private opened(opening: Opening, answer: OpenAnswer): void {
    if (answer.kind === 'opened') return this.store(opening, answer.generation);
    const isOver = answer.why === 'revoked' || answer.why === 'changed';
    // A completion of kind `back` ends as revoked, or merely ends a hold.
    opening.decide({ kind: isOver ? 'back' : 'lost' });
  }

  private store({ run, due, decide }: Opening, generation: number): void {
    const { cluster, ledger, storedAs: tube, backupDelay } = this.context;
    const envelope = this.envelopeOf(run, due, generation);
    const announced = announcedBy(cluster);
    // Any of them may have been stored.
    const owed = { mask: announced, unknown: false };
    this.storing.set(run, { next: { generation, due, announced, owed, places: [] }, decide });
    void storeCopies(cluster, { tube, envelope, backupDelay, ledger }).then((stored) => {
      if (!this.storing.delete(run)) this.deleter.deleteVoid({ id: run.id, generation }, stored.places); // aborted
      else if (stored.enough) decide({ kind: 'again', next: announcedGeneration(cluster, stored) });
      else decide(this.notStored(run, announcedGeneration(cluster, stored), tooFewOf(cluster, stored)));
    });
  }

  private notStored(run: Run, next: AnnouncedGeneration, why: string): AfterAgain {
    const { tube, report } = this.context;
    report.notStored(tube, run.id, new Date(next.due), why);
    return { kind: 'later', next };
  }

  /** Returns the envelope of another generation of the same job. */
  private envelopeOf({ delivery }: Run, due: number, generation: number): WrittenJob {
    const { header } = delivery;
    const { id, born } = header;
    const { cluster } = this.context;
    const copies = cluster.settings.replicas;
    const job = jobHeader({ id, due, generation, born, copies }, header);
    return envelopeFor(cluster, this.context.storedAs, job, delivery.content);
  }
}
