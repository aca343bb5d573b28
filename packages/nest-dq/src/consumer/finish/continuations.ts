import type { Cluster } from '../../cluster/cluster.js';
import { announcedBy, envelopeFor, refuseTooLarge, storeCopies, tooFewOf } from '../../copies/storing.js';
import { LONGEST_DELAY } from '../../copies/timing.js';
import type { JobEnvelope } from '../../copies/formats/dq1.js';
import type { StoredTube } from '../../api/tube.js';
import { DqError, toError } from '../../errors.js';
import type { TubeLedger } from '../../ledger/ledger.js';
import type { AnnouncedGeneration, OpenAnswer } from '../../ledger/requests.js';
import { type Clock } from '../../time/clock.js';
import { showInstant } from '../../time/instant.js';
import type { Deletions } from './deletions.js';
import { InsistentCalls } from './insistent-calls.js';
import type { Verdict } from '../run/outcome.js';
import type { Run } from '../run/run.js';

export interface ContinuationEvents {
  /** The copies are stored: the run's finish makes them count. */
  stored(run: Run, next: AnnouncedGeneration): void;
  /**
   * Too few of them are: the run's finish aborts `next`, and lets the job wait as the generation that it is, until the time
   * of `next`. `why`, unless only the patience with the nodes was over.
   */
  unstored(run: Run, next: AnnouncedGeneration, why?: string): void;
  /** It said an instant that is over, so it goes on a second after this run was due. */
  instantOver(run: Run, at: number): void;
  /** It said a time that cannot be. */
  failed(run: Run, error: Error): void;
  /** It was revoked or replaced meanwhile: nothing follows the run. */
  over(run: Run): void;
  /** Another run has taken over. */
  lost(run: Run): void;
  trouble(run: Run, error: Error): void;
}

export interface ContinuationParts {
  readonly ledger: TubeLedger;
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly deletions: Deletions;
}

interface Opening {
  readonly run: Run;
  readonly due: number;
}

/** Milliseconds. Between a run and one that it asked for with an instant that is over, or they would make a hot loop. */
const LEAST_STEP = 1_000;
/** No generation was opened. */
const NOT_OPENED = { generation: -1, announced: 0, owed: { mask: 0, unknown: false }, places: [] } as const;

/**
 * Lets jobs go on after a run that went well: the ledger opens a new generation, its copies are stored, and then the
 * run's finish commits it in place of the old one. Until then its claims have to wait. Where too few nodes store it, the
 * old one goes on, as after a retry: a run that went well is not repeated because of nodes that are away ◆.
 */
export class Continuations {
  private readonly openings: InsistentCalls<Opening, OpenAnswer>;
  /** Those whose copies are being stored. */
  private readonly storing = new Map<Run, AnnouncedGeneration>();

  constructor(
    private readonly tube: StoredTube,
    /** Milliseconds. */
    private readonly backupDelay: number,
    private readonly parts: ContinuationParts,
    private readonly events: ContinuationEvents,
  ) {
    const { ledger, cluster, clock } = parts;
    const trouble = ({ run }: { run: Run }, error: Error) => events.trouble(run, error);
    const open = (openings: readonly Opening[]) =>
      ledger.open(
        openings.map(({ run, due }) => ({
          id: run.id,
          opening: { by: 'again', run: run.ref },
          due,
          announced: announcedBy(cluster),
        })),
      );
    this.openings = new InsistentCalls(ledger, clock, open, {
      answered: (opening, answer) => this.opened(opening, answer),
      trouble,
    });
  }

  /** Those of which nothing was told yet. */
  get size(): number {
    return this.openings.size + this.storing.size;
  }

  begin(run: Run, { delay, at }: Extract<Verdict, { kind: 'again' }>): void {
    const now = this.parts.ledger.now();
    const isOver = delay === 0 && at !== 0 && at < now;
    const least = run.grant.due + LEAST_STEP;
    if (isOver && least > now) this.events.instantOver(run, at);
    const due = Math.ceil(isOver ? Math.max(now, least) : Math.max(now + delay, at));
    if (due - now > LONGEST_DELAY * 1000) {
      const fact = `Again is due at ${showInstant(due)}: expected within ${LONGEST_DELAY} s`;
      return this.events.failed(run, new DqError('DQ_TOO_FAR', fact));
    }
    const why = this.whyNot(run, due);
    if (why === undefined) this.openings.add({ run, due });
    else this.events.unstored(run, { ...NOT_OPENED, due }, why);
  }

  flush(): void {
    this.openings.flush();
  }

  /** Asks no more; what is not committed by then no claim starts while its run's record says otherwise. */
  close(): void {
    this.openings.close();
  }

  /** Waits no longer for the nodes. */
  stopStoring(): void {
    for (const [run, next] of this.storing) this.events.unstored(run, next);
    this.storing.clear();
  }

  /** Why it is not even tried: for people. */
  private whyNot(run: Run, due: number): string | undefined {
    const { cluster } = this.parts;
    const { minWritten } = cluster.settings;
    const writable = cluster.nodes.filter((node) => node.writable).length;
    if (writable < minWritten)
      return `${writable} of ${cluster.nodes.length} nodes store, need ${minWritten}`;
    try {
      // The header grew by a generation, whose number has as many digits as the due time.
      refuseTooLarge(cluster, this.envelopeOf(run, due, due));
      return undefined;
    } catch (error) {
      return toError(error).message;
    }
  }

  private opened({ run, due }: Opening, answer: OpenAnswer): void {
    if (answer.kind === 'opened') return this.store(run, due, answer.generation);
    if (answer.why === 'revoked' || answer.why === 'changed') this.events.over(run);
    else this.events.lost(run);
  }

  private store(run: Run, due: number, generation: number): void {
    const { cluster, ledger, deletions } = this.parts;
    const { tube, backupDelay } = this;
    const envelope = this.envelopeOf(run, due, generation);
    // As far as is known, all of them may be.
    const announced = announcedBy(cluster);
    this.storing.set(run, {
      generation,
      due,
      announced,
      owed: { mask: announced, unknown: false },
      places: [],
    });
    storeCopies(
      cluster,
      { tube, envelope, backupDelay },
      () => ledger.now(),
      (stored) => {
        if (!this.storing.delete(run))
          deletions.deleteVoid({ id: run.id, generation }, stored.places); // aborted
        else if (stored.enough) this.events.stored(run, stored);
        else this.events.unstored(run, stored, tooFewOf(cluster, stored));
      },
    );
  }

  /** The same job, another generation of it. */
  private envelopeOf({ delivery }: Run, due: number, generation: number): JobEnvelope {
    const { id, born, key, priority, attempts, backoff, headers } = delivery.header;
    const job = { id, due, generation, born, key, priority, attempts, backoff, headers };
    return envelopeFor(this.parts.cluster, job, delivery.content);
  }
}
