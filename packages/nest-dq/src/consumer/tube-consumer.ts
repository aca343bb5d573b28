import { DqError } from '../errors.js';
import type { HandlerMethod } from '../api/job.js';
import { storedTube } from '../api/tube.js';
import type { TubeLedger } from '../ledger/ledger.js';
import { Changes } from './changes.js';
import type { ConsumerSettings, TubeParts } from './consumer-parts.js';
import type { Delivery } from './reserve/delivery.js';
import { Endings } from './finish/endings.js';
import { Executor } from './run/executor.js';
import type { HandlerSettings } from './run/handler-settings.js';
import { Heartbeat } from './heartbeat.js';
import { Intake, type IntakeHost } from './reserve/intake.js';
import { LedgerGate } from './ledger-gate.js';
import type { ConsumerReport } from './report.js';
import { Run, type Grant } from './run/run.js';
import { Signals } from './run/signals.js';

/** Milliseconds. How long handlers that heed their aborted signal have to end by themselves. */
const ABORT_GRACE = 250;
/** Milliseconds. How long a stop waits for copies that are being stored. */
const STORING = 500;
/** Milliseconds. How long a stop waits for the ledger and the nodes to take the last words. */
const LAST_WORDS = 1_500;

/** One tube in one process: what its intake has claimed is run, finished in the ledger, and settled on the nodes. */
export class TubeConsumer implements IntakeHost {
  private readonly ledger: TubeLedger;
  private readonly gate: LedgerGate;
  private readonly intake: Intake;
  private readonly executor: Executor;
  private readonly endings: Endings;
  private readonly heartbeat: Heartbeat;
  private readonly changes: Changes;
  private readonly report: ConsumerReport;
  private started = false;
  private stopping: Promise<void> | undefined;

  constructor(
    readonly tube: string,
    handler: HandlerMethod,
    handling: HandlerSettings,
    settings: ConsumerSettings,
    parts: TubeParts,
  ) {
    const { clock, report, events } = parts;
    this.report = report;
    const { backupDelay, lease } = settings;
    const names = { tube, storedAs: storedTube(tube, settings.prefix) };
    const ledger = (this.ledger = parts.ledger.tube(names.storedAs));
    const signals = new Signals(tube, report);
    const changes = (this.changes = new Changes(clock));
    const intake = (this.intake = new Intake(tube, ledger, handling, settings, parts, this));
    const executor = (this.executor = new Executor(
      names,
      handler,
      handling,
      { ledger, clock, report, events },
      {
        ended: (run, verdict) => this.endings.ended(run, verdict),
        freed: () => {
          intake.completed();
          this.changed();
        },
      },
    ));
    this.endings = new Endings(names, ledger, backupDelay, parts, { executor, intake, signals, changes });
    this.heartbeat = new Heartbeat(ledger, clock, lease, () => executor.all(), {
      lost: (run) => signals.loseLease(run),
      revoked: (run) => signals.revoke(run),
      trouble: (run, error) => report.ledgerTrouble(tube, run.id, error),
      stoodStill: (ms) => report.stoodStill(tube, ms, lease),
      touch: () => intake.touchAll(),
    });
    this.gate = new LedgerGate(ledger, clock, {
      begin: () => {
        this.heartbeat.start();
        this.reserve();
      },
      suspend: () => intake.pause(),
      back: () => {
        this.endings.flush();
        this.heartbeat.beat();
      },
      resume: () => this.reserve(),
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

  get sparedFrom(): number | undefined {
    return this.gate.sparedFrom;
  }

  get lettingGo(): boolean {
    return this.gate.suspended || this.stopping !== undefined;
  }

  get running(): number {
    return this.executor.handling;
  }

  /** Copies in hand that are early, or due without a slot. */
  get held(): number {
    return this.intake.held;
  }

  runs(job: { readonly id: string; readonly generation: number }): boolean {
    return this.executor.has(job);
  }

  run(delivery: Delivery, grant: Grant, claimedAt: number): void {
    if (this.stopping) this.giveBack(delivery, grant, claimedAt);
    else this.executor.start(delivery, grant, claimedAt);
  }

  giveBack(delivery: Delivery, grant: Grant, claimedAt: number): void {
    this.endings.ended(new Run(delivery, grant, claimedAt), { kind: 'back' });
  }

  gone(delivery: Delivery): void {
    this.endings.gone(delivery);
  }

  buried(delivery: Delivery): void {
    this.endings.buried(delivery);
  }

  changed(): void {
    this.intake.schedule();
    this.changes.tell();
  }

  /** Begins, or goes on. A ledger that comes back while this drains changes nothing. */
  private reserve(): void {
    if (!this.stopping) this.intake.start();
  }

  private async drain(limit: number): Promise<void> {
    this.intake.stop();
    const running = () => this.executor.handling + this.intake.claiming > 0;
    await this.changes.until(() => !running(), limit);
    if (running()) {
      this.tellCutOff(limit);
      this.executor.abortAll(
        new DqError('DQ_SHUTDOWN', `the process shuts down, and its drain limit of ${limit} ms is over`),
      );
      await this.changes.until(() => !running(), ABORT_GRACE);
      this.executor.giveUp();
    }
    this.endings.flush();
    const told = () => this.endings.pending === 0;
    await this.changes.until(told, STORING);
    this.endings.stopStoring();
    await this.changes.until(told, LAST_WORDS);
    this.gate.close();
    this.heartbeat.stop();
    this.endings.close();
    this.ledger.abandonRuns(); // with Redis away not every run could be ended
    await this.intake.close();
  }

  private tellCutOff(limit: number): void {
    const cut = Array.from(this.executor.all()).filter(({ handling }) => handling).length;
    if (cut > 0) this.report.cutOff(this.tube, cut, limit);
  }
}
