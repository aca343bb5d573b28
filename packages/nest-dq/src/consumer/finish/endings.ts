import type { TubeLedger } from '../../ledger/ledger.js';
import type { Death, CompleteAnswer } from '../../ledger/requests.js';
import { Burials } from './burials.js';
import type { Changes } from '../changes.js';
import type { ConsumerParts } from '../consumer-parts.js';
import { Continuations } from './continuations.js';
import { Deletions } from './deletions.js';
import type { Delivery } from '../reserve/delivery.js';
import type { Executor } from '../run/executor.js';
import { Finishes, type Finish } from './finishes.js';
import type { Intake } from '../reserve/intake.js';
import { letterOf } from './letter-of.js';
import type { Verdict } from '../run/outcome.js';
import type { AfterFailure } from '../report.js';
import type { Run, TubeNames } from '../run/run.js';
import type { Signals } from '../run/signals.js';

/** What an ended run goes back to. */
export interface EndingsHost {
  readonly executor: Executor;
  readonly intake: Intake;
  readonly signals: Signals;
  readonly changes: Changes;
}

/** What follows a run: the ledger is told what became of it, and then its copies are deleted, kept or buried. */
export class Endings {
  private readonly finishes: Finishes;
  private readonly continuations: Continuations;
  private readonly burials: Burials;
  private readonly deletions: Deletions;

  constructor(
    private readonly names: TubeNames,
    private readonly ledger: TubeLedger,
    backupDelay: number,
    private readonly parts: ConsumerParts,
    private readonly host: EndingsHost,
  ) {
    const { cluster, clock, settleQueue, report } = parts;
    const { tube, storedAs } = names;
    const answered = () => host.changes.tell();
    const trouble = (run: Run, error: Error) => report.ledgerTrouble(tube, run.id, error);
    this.deletions = new Deletions(cluster, settleQueue, clock, storedAs, answered);
    this.finishes = new Finishes(ledger, clock, {
      answered: (finish, answer) => this.finished(finish, answer),
      trouble: ({ run }, error) => trouble(run, error),
    });
    this.continuations = new Continuations(
      storedAs,
      backupDelay,
      { ledger, cluster, clock, deletions: this.deletions },
      {
        instantOver: (run, at) => report.instantOver(tube, run.id, new Date(at)),
        stored: (run, next) => this.finishes.tell(run, { kind: 'again', next }),
        unstored: (run, next, why) => {
          if (why) report.notStored(tube, run.id, new Date(next.due), why);
          this.finishes.tell(run, { kind: 'later', next });
        },
        failed: (run, error) => host.executor.fail(run, error),
        over: (run) => this.finishes.tell(run, { kind: 'back' }), // which ends as revoked, or only ends a hold
        lost: (run) => this.lose(run),
        trouble,
      },
    );
    this.burials = new Burials(ledger, clock, {
      answered,
      trouble: ({ header }, error) => report.ledgerTrouble(tube, header.id, error),
    });
  }

  /** What the ledger or a node has not answered yet. */
  get pending(): number {
    return this.finishes.size + this.continuations.size + this.burials.size + this.deletions.pending;
  }

  ended(run: Run, verdict: Verdict): void {
    if (verdict.kind === 'again') this.continuations.begin(run, verdict);
    else this.finishes.tell(run, verdict);
  }

  /** The copy of a job that is over, which whoever ended it could not delete. */
  gone(delivery: Delivery): void {
    this.deletions.delete(delivery, false);
  }

  /** The copy of a dead job. */
  buried(delivery: Delivery): void {
    this.burials.add(delivery);
  }

  /** Says at once what waits to be said. */
  flush(): void {
    this.finishes.flush();
    this.continuations.flush();
    this.burials.flush();
  }

  /** Waits no longer for copies that are being stored: the jobs wait as what they are. */
  stopStoring(): void {
    this.continuations.stopStoring();
  }

  /** Says no more: what the ledger has not taken, the end of the leases decides. */
  close(): void {
    this.finishes.close();
    this.continuations.close();
    this.burials.close();
  }

  private finished({ run, ending, due }: Finish, answer: CompleteAnswer): void {
    const { delivery } = run;
    if ((ending.kind === 'again' && answer !== 'ok') || (ending.kind === 'later' && answer !== 'refused')) {
      const { generation, places } = ending.next;
      this.deletions.deleteVoid({ id: run.id, generation }, places); // the ledger has aborted it
    }
    if (answer === 'refused') return this.lose(run);
    this.host.executor.forget(run);
    if (ending.kind === 'retry' || ending.kind === 'dead') {
      const next = ending.kind === 'retry' ? new Date(due) : 'dead';
      this.failed(run, ending.error, answer === 'over' ? 'over' : next);
    } else if (ending.kind !== 'back') {
      this.completed(run);
    }
    if (answer === 'over' || ending.kind === 'done' || ending.kind === 'again') {
      this.deletions.delete(delivery, true);
    } else if (ending.kind === 'retry' || ending.kind === 'later') {
      this.host.intake.keepUntil(delivery, due);
    } else if (ending.kind === 'back') {
      delivery.release(0);
    } else {
      delivery.bury();
      this.died(run, ending.death);
    }
    this.changed();
  }

  private failed(run: Run, error: Error, next: AfterFailure): void {
    const { job } = run;
    // One that never began is told as dead; and what a raised signal ended is no failure.
    if (!job || run.revoked) return;
    const { report, events } = this.parts;
    report.failed(job, error, next);
    if (!events.heard('failed')) return;
    const retry = next instanceof Date ? { retryAt: next } : {};
    events.tell('failed', { job, error, took: tookOf(run), ...retry });
  }

  private completed(run: Run): void {
    const { events } = this.parts;
    if (run.job && events.heard('completed')) {
      events.tell('completed', { job: run.job, took: tookOf(run), result: run.result });
    }
  }

  private died({ delivery, grant }: Run, death: Death): void {
    const { report, events } = this.parts;
    report.dead(this.names.tube, delivery.header, death);
    if (!events.heard('dead')) return;
    const end = { ...death, due: grant.due, attempt: grant.attempt, died: this.ledger.now() };
    events.tell('dead', { letter: letterOf(this.names, delivery, end) });
  }

  private lose(run: Run): void {
    this.host.executor.forget(run);
    this.host.signals.loseLease(run); // told here too, as nobody may have asked before the handler ended
    this.host.intake.letRunEnd(run.delivery);
    this.changed();
  }

  private changed(): void {
    this.host.intake.schedule();
    this.host.changes.tell();
  }
}

/** Milliseconds. */
function tookOf({ startedAt, endedAt }: Run): number {
  return endedAt - startedAt;
}
