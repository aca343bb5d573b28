import { DqError } from '../errors.js';
import type { HandlerMethod } from '../job.js';
import type { FinishAnswer } from '../ledger/ledger.js';
import { Changes } from './changes.js';
import type { ConsumerParts, ConsumerSettings } from './consumer-parts.js';
import { Deletions } from './deletions.js';
import type { Delivery } from './delivery.js';
import { Executor } from './executor.js';
import { Finishes } from './finishes.js';
import type { HandlerSettings } from './handler-settings.js';
import { Heartbeat } from './heartbeat.js';
import { Intake, type IntakeHost } from './intake.js';
import { LedgerGate } from './ledger-gate.js';
import type { Verdict } from './outcome.js';
import { Run, type Grant } from './run.js';

/** Milliseconds. How long handlers that heed their aborted signal have to end by themselves. */
const ABORT_GRACE = 250;
/** Milliseconds. How long a stop waits for the ledger and the nodes to take the last words. */
const LAST_WORDS = 1_500;

/** One tube in one process: what its intake has claimed is run, finished in the ledger, and settled on the nodes. */
export class TubeConsumer implements IntakeHost {
  private readonly gate: LedgerGate;
  private readonly intake: Intake;
  private readonly executor: Executor;
  private readonly finishes: Finishes;
  private readonly deletions: Deletions;
  private readonly heartbeat: Heartbeat;
  private readonly changes: Changes;
  private started = false;
  private stopping: Promise<void> | undefined;

  constructor(
    readonly tube: string,
    handler: HandlerMethod,
    handling: HandlerSettings,
    settings: ConsumerSettings,
    private readonly parts: ConsumerParts,
  ) {
    const { cluster, clock, settleQueue, report } = parts;
    const storedAs = settings.prefix + tube;
    const ledger = parts.ledger.tube(storedAs);
    this.changes = new Changes(clock);
    this.intake = new Intake(tube, ledger, handling, settings, parts, this);
    this.executor = new Executor({ tube, storedAs }, handler, handling, ledger, report, (run, verdict) =>
      this.ended(run, verdict),
    );
    this.finishes = new Finishes(ledger, clock, (run, verdict, answer, due) =>
      this.finished(run, verdict, answer, due),
    );
    this.deletions = new Deletions(cluster, settleQueue, storedAs, () => this.changes.tell());
    this.heartbeat = new Heartbeat(ledger, clock, settings.lease, () => this.executor.all(), {
      lost: (run) => this.executor.loseLease(run),
      touch: () => this.intake.touchAll(),
    });
    this.gate = new LedgerGate(ledger, clock, {
      begin: () => {
        this.heartbeat.start();
        this.intake.start();
      },
      suspend: () => this.intake.pause(),
      back: () => {
        this.finishes.flush();
        this.heartbeat.beat();
      },
      resume: () => this.intake.start(),
    });
  }

  /** Begins as soon as the ledger and a node answer. Idempotent, and nothing after `stop`. */
  start(): void {
    if (this.started || this.stopping) return;
    this.started = true;
    this.gate.start();
  }

  /**
   * Drains: reserves nothing more, gives back what has not begun, lets handlers end for `limit` ms, then raises their
   * signals and gives their jobs back too, without counting the attempt. Idempotent; also before `start`.
   */
  stop(limit: number): Promise<void> {
    return (this.stopping ??= this.drain(limit));
  }

  // ── what the intake asks and brings ──

  get open(): boolean {
    return this.gate.open && !this.stopping;
  }

  get lettingGo(): boolean {
    return this.gate.suspended || this.stopping !== undefined;
  }

  get running(): number {
    return this.executor.handling;
  }

  runs(id: string): boolean {
    return this.executor.has(id);
  }

  run(delivery: Delivery, grant: Grant, claimedAt: number): void {
    if (this.stopping) this.finishes.add(new Run(delivery, grant, claimedAt), { kind: 'back' });
    else this.executor.start(delivery, grant, claimedAt);
  }

  gone(delivery: Delivery): void {
    this.deletions.delete(delivery, false);
  }

  changed(): void {
    this.intake.schedule();
    this.changes.tell();
  }

  // ── after the handler ──

  private ended(run: Run, verdict: Verdict): void {
    if (verdict.kind !== 'back') this.intake.completed();
    this.finishes.add(run, verdict);
    this.changed();
  }

  private finished(run: Run, verdict: Verdict, answer: FinishAnswer, retryDue: number): void {
    this.executor.forget(run);
    const { delivery } = run;
    if (answer === 'refused') {
      this.executor.loseLease(run); // told here too, as nobody may have asked before the handler ended
      this.intake.letRunEnd(delivery);
    } else if (answer === 'revoked' || verdict.kind === 'done') {
      this.deletions.delete(delivery, true);
    } else if (verdict.kind === 'retry') {
      this.intake.keepUntil(delivery, retryDue);
    } else if (verdict.kind === 'back') {
      delivery.release(0);
    } else {
      delivery.bury();
      this.parts.report.dead(this.tube, run.id, verdict.death);
    }
    this.changed();
  }

  private async drain(limit: number): Promise<void> {
    this.intake.stop();
    const running = () => this.executor.handling + this.intake.claiming > 0;
    await this.changes.until(() => !running(), limit);
    if (running()) {
      this.executor.abortAll(
        new DqError('DQ_SHUTDOWN', `the process shuts down, and its drain limit of ${limit} ms is over`),
      );
      await this.changes.until(() => !running(), ABORT_GRACE);
      this.executor.giveUp();
    }
    this.finishes.flush();
    await this.changes.until(() => this.finishes.size + this.deletions.pending === 0, LAST_WORDS);
    this.gate.close();
    this.heartbeat.stop();
    this.finishes.close();
    await this.intake.close();
  }
}
