import type { Cluster } from '../cluster/cluster.js';
import {
  announcedBy,
  envelopeFor,
  refuseTooLarge,
  storeCopies,
  tooFewCopies,
  type Stored,
} from '../copy-storing.js';
import { LONGEST_DELAY } from '../copy-timing.js';
import type { JobEnvelope } from '../envelope.js';
import { DqError, toError } from '../errors.js';
import type { AbortAnswer, OpenAnswer, AnnouncedGeneration, TubeLedger } from '../ledger/ledger.js';
import { showInstant, type Clock } from '../time.js';
import type { Deletions } from './deletions.js';
import { InsistentCalls } from './insistent-calls.js';
import type { Verdict } from './outcome.js';
import type { Run } from './run.js';

export interface ContinuationEvents {
  /** The copies are stored: the run's finish makes them count. */
  stored(run: Run, next: AnnouncedGeneration): void;
  /** It cannot go on so, and nothing is left of the attempt. */
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

interface Undoing {
  readonly run: Run;
  readonly stored: Stored;
}

/**
 * Lets jobs go on after a run that went well: the ledger opens a new generation, its copies are stored, and then the
 * run's finish commits it in place of the old one. Until then its claims have to wait.
 */
export class Continuations {
  private readonly openings: InsistentCalls<Opening, OpenAnswer>;
  private readonly undoings: InsistentCalls<Undoing, AbortAnswer>;
  private storing = 0;

  constructor(
    /** As nodes and ledger know it. */
    private readonly tube: string,
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
    const abort = (undoings: readonly Undoing[]) =>
      ledger.abort(
        undoings.map(({ run, stored: { generation, due, announced, owed } }) => ({
          id: run.id,
          generation,
          due,
          announced,
          owed,
        })),
      );
    this.openings = new InsistentCalls(ledger, clock, open, {
      answered: (opening, answer) => this.opened(opening, answer),
      trouble,
    });
    this.undoings = new InsistentCalls(ledger, clock, abort, {
      answered: (undoing, answer) => this.undone(undoing, answer),
      trouble,
    });
  }

  /** Those of which nothing was told yet, and what is still to be taken back. */
  get size(): number {
    return this.openings.size + this.storing + this.undoings.size;
  }

  begin(run: Run, { delay, at }: Extract<Verdict, { kind: 'again' }>): void {
    const now = this.parts.ledger.now();
    const due = Math.ceil(Math.max(now + delay, at));
    try {
      if (due - now > LONGEST_DELAY * 1000) {
        throw new DqError(
          'DQ_TOO_FAR',
          `Again is due at ${showInstant(due)}: expected within ${LONGEST_DELAY} s`,
        );
      }
      // The header grew by a generation, whose number has as many digits as the due time.
      refuseTooLarge(this.parts.cluster, this.envelopeOf(run, due, due));
    } catch (error) {
      return this.events.failed(run, toError(error));
    }
    this.openings.add({ run, due });
  }

  flush(): void {
    this.openings.flush();
    this.undoings.flush();
  }

  /** Asks no more; what is not committed by then no claim starts while its run's record says otherwise. */
  close(): void {
    this.openings.close();
    this.undoings.close();
  }

  private opened({ run, due }: Opening, answer: OpenAnswer): void {
    if (answer.kind === 'opened') return this.store(run, due, answer.generation);
    if (answer.why === 'revoked' || answer.why === 'changed') this.events.over(run);
    else this.events.lost(run);
  }

  private store(run: Run, due: number, generation: number): void {
    const { cluster, ledger } = this.parts;
    const { tube, backupDelay } = this;
    const envelope = this.envelopeOf(run, due, generation);
    this.storing++;
    storeCopies(
      cluster,
      { tube, envelope, backupDelay },
      () => ledger.now(),
      (stored) => {
        this.storing--;
        if (stored.enough) this.events.stored(run, stored);
        else this.undoings.add({ run, stored });
      },
    );
  }

  /** The same job, another generation of it. */
  private envelopeOf({ delivery }: Run, due: number, generation: number): JobEnvelope {
    const { id, born, key, priority, attempts, backoff, headers } = delivery.header;
    const job = { id, due, generation, born, key, priority, attempts, backoff, headers };
    return envelopeFor(this.parts.cluster, job, delivery.content);
  }

  private undone({ run, stored }: Undoing, answer: AbortAnswer): void {
    // The lease was over, and a claim came first.
    if (answer === 'started') return this.events.lost(run);
    const { cluster, deletions } = this.parts;
    deletions.deleteVoid({ id: run.id, generation: stored.generation }, stored.places);
    const outcome = 'so the run that said Again counts as failed';
    this.events.failed(run, tooFewCopies(cluster, stored, outcome, false));
  }
}
