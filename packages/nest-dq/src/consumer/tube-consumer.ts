import { DqError } from '../errors.js';
import type { HandlerMethod } from '../api/job.js';
import { storedTube } from '../api/tube.js';
import { copyDelay } from '../copies/timing.js';
import type { Sent } from '../ledger/batcher.js';
import type { TubeLoad } from '../ledger/presence.js';
import type { ClaimAnswer, CompleteAnswer } from '../ledger/requests.js';
import { busyPause, leasePause, LOOK_AGAIN, YOUNG_RUN } from './claim/pauses.js';
import { ClaimQueue } from './claim/claim-queue.js';
import { LimitedCopies } from './claim/limited-copies.js';
import { ConditionWait } from './condition-wait.js';
import { AgainScheduler, type AfterAgain } from './finish/again-scheduler.js';
import { CopyBurier } from './finish/copy-burier.js';
import { CopyDeleter } from './finish/copy-deleter.js';
import { RunCompletion } from './finish/run-completion.js';
import { reportDeath, reportRun } from './finish/run-report.js';
import { Heartbeat } from './heartbeat.js';
import { LedgerGate, type GateChange } from './ledger-gate.js';
import type { Delivery } from './reserve/delivery.js';
import { ReserveBudget } from './reserve/reserve-budget.js';
import { Reserver } from './reserve/reserver.js';
import { Executor } from './run/executor.js';
import type { HandlerSettings } from './run/handler-settings.js';
import type { RunOutcome } from './run/outcome.js';
import { Run } from './run/run.js';
import { loseLease } from './run/signals.js';
import { StartScheduler } from './run/start-scheduler.js';
import type { ConsumerParts, ConsumerSettings, TubeContext } from './tube-context.js';
import { loadOf } from './tube-load.js';

/** Milliseconds. A copy that surfaces earlier than this is released: its node's clock runs ahead. */
const EARLIEST = 1_100;
/** Milliseconds. After a copy that is early by more than this, those behind it may rest. */
const UNHURRIED = 10;
/** Milliseconds. How long handlers that heed their aborted signal have to end by themselves. */
const ABORT_GRACE = 250;
/** Milliseconds. How long a stop waits for copies that are being stored. */
const STORING = 500;
/** Milliseconds. How long a stop waits for the ledger and the nodes to take the last words. */
const LAST_WORDS = 1_500;

/**
 * One tube in one process. This is the life of a delivery: it `arrived`, its claim was answered (`claimed`), its run began
 * (`begin`), its outcome was known (`ended`), and the ledger took its completion (`completed`).
 */
export class TubeConsumer {
  private readonly context: TubeContext;
  private readonly reserver: Reserver;
  private readonly claims: ClaimQueue;
  private readonly limited: LimitedCopies;
  private readonly starts: StartScheduler;
  private readonly executor: Executor;
  private readonly again: AgainScheduler;
  private readonly completion: RunCompletion;
  private readonly deleter: CopyDeleter;
  private readonly burier: CopyBurier;
  private readonly heartbeat: Heartbeat;
  private readonly wait: ConditionWait;
  private started = false;
  private stopping: Promise<void> | undefined;

  constructor(
    readonly tube: string,
    handler: HandlerMethod,
    handling: HandlerSettings,
    { prefix, backupDelay, lease }: ConsumerSettings,
    parts: ConsumerParts & Pick<TubeContext, 'sharedLanes' | 'beats' | 'goQueueRole'>,
  ) {
    const { clock } = parts;
    const storedAs = storedTube(tube, prefix);
    const ledger = parts.ledger.tube(storedAs);
    const context: TubeContext = (this.context = {
      ...parts,
      tube,
      storedAs,
      ledger,
      handling,
      backupDelay,
      lease,
      gate: new LedgerGate(ledger, clock, (change) => this.gateChanged(change), parts.admission),
      budget: new ReserveBudget(clock, handling.concurrency),
      runs: new Map(),
    });
    this.wait = new ConditionWait(clock);
    const answered = () => this.wait.tell();
    this.claims = new ClaimQueue(
      context,
      (delivery, answer, sent) => this.claimed(delivery, answer, sent),
      () => this.changed(),
    );
    this.limited = new LimitedCopies(context, this.claims, () => this.changed());
    this.reserver = new Reserver(context, this.claims, this.limited, (delivery) => this.arrived(delivery));
    this.starts = new StartScheduler(context, (run) => this.begin(run));
    this.executor = new Executor(
      context,
      handler,
      (run, outcome) => this.ended(run, outcome),
      () => this.changed(),
    );
    this.deleter = new CopyDeleter(context, answered);
    this.again = new AgainScheduler(context, this.deleter, (run, next) => this.ended(run, next));
    this.completion = new RunCompletion(context, (run, answer) => this.completed(run, answer));
    this.burier = new CopyBurier(context, this.deleter, answered);
    this.heartbeat = new Heartbeat(context, () => this.reserver.touchAll());
  }

  /** What it has at hand. */
  get load(): TubeLoad {
    return loadOf(this.context, this.claims.size);
  }

  /** Begins as soon as the ledger and a node answer. Idempotent, and nothing after `stop`. */
  start(): void {
    if (this.started || this.stopping) return;
    this.started = true;
    this.context.gate.start();
  }

  /**
   * Drains: reserves nothing more, releases what has not begun, waits `limit` ms for handlers, then raises their signals
   * and hands their runs back, without counting the attempt. Idempotent; also before `start`.
   */
  stop(limit: number): Promise<void> {
    return (this.stopping ??= this.drain(limit));
  }

  // ── a delivery, from its node to its end ──

  /** A copy was reserved. True when it is so early that those behind it are in no hurry. */
  private arrived(delivery: Delivery): boolean {
    const { ledger, backupDelay } = this.context;
    const { index, due } = delivery.header;
    const early = due - ledger.now();
    if (this.reserver.releasesAll) delivery.release(0);
    else if (early > EARLIEST) delivery.release(copyDelay(index, early, backupDelay));
    else if (early <= 0 || !delivery.primary) this.claims.addAll([delivery]);
    else this.claims.hold(delivery);
    return early > UNHURRIED;
  }

  /** All that can follow a claim. */
  private claimed(delivery: Delivery, answer: ClaimAnswer, sent: Sent): void {
    const { context } = this;
    const { ledger, handling } = context;
    const { index, due, wire, attempts = handling.attempts } = delivery.header;
    switch (answer.kind) {
      case 'run':
        return this.starts.add(new Run(delivery, answer, sent, context));
      case 'wait':
        return this.waitUntil(delivery, ledger.now() + answer.ms);
      case 'busy':
        if (this.reserver.releasesAll) return delivery.release(busyPause(index, answer, context));
        if (wire) return this.claims.postponeFor(delivery, LOOK_AGAIN);
        if (answer.ranFor < YOUNG_RUN) return this.claims.postponeFor(delivery, YOUNG_RUN);
        return delivery.release(busyPause(index, answer, context));
      case 'paused':
        context.gate.pause(answer.ms);
        return delivery.release(0);
      case 'limited':
        if (this.reserver.releasesAll) return delivery.release(0);
        return this.limited.add(delivery, answer);
      case 'gone':
        return this.deleter.delete(delivery, false); // who ended the job could not delete it
      case 'dead':
      case 'stale':
        if (answer.kind === 'stale') reportDeath(context, delivery, { why: 'stale', due, attempt: 0 });
        else if (answer.fresh) reportDeath(context, delivery, { why: 'attempts', due, attempt: attempts });
        return this.burier.bury(delivery);
    }
  }

  /** Its time has come. */
  private begin(run: Run): void {
    // Somebody else may have the job by now ◆: the handlers of the batch before this one may have blocked, too.
    const tooLate = this.context.clock.now() > run.usableUntil;
    if (tooLate || this.reserver.stopped) this.completion.tell(run, { kind: 'back' });
    else this.executor.start(run);
  }

  /** All that can follow the end of a run; of an `Again` first that its copies are stored, or are not. */
  private ended(run: Run, outcome: RunOutcome | AfterAgain): void {
    switch (outcome.kind) {
      case 'again':
        return 'next' in outcome ? this.completion.tell(run, outcome) : this.again.begin(run, outcome);
      case 'failed':
        return this.executor.fail(run, outcome.error);
      case 'lost':
        return this.lose(run);
      default:
        return this.completion.tell(run, outcome);
    }
  }

  /** All that can follow a run: the ledger has answered to its completion. */
  private completed(run: Run, answer: CompleteAnswer): void {
    const { delivery, nextDue } = run;
    const completion = run.completion!;
    const aborted = answer !== (completion.kind === 'again' ? 'ok' : 'refused');
    if (aborted && 'next' in completion) {
      const { generation, places } = completion.next;
      this.deleter.deleteVoid({ id: run.id, generation }, places);
    }
    if (answer === 'refused') return this.lose(run);
    this.executor.forget(run);
    this.limited.returned(run.permit);
    reportRun(this.context, run, answer);
    switch (answer === 'over' ? 'over' : completion.kind) {
      case 'done':
      case 'again': // the new copies are the job
      case 'over': // it was revoked or replaced meanwhile
        this.deleter.delete(delivery, true);
        break;
      case 'retry':
      case 'later':
        this.waitUntil(delivery, nextDue);
        break;
      case 'back':
        delivery.release(0);
        break;
      case 'dead':
        this.burier.buryNoted(delivery);
    }
    this.changed();
  }

  /** Another run has taken over: the lease was lost. */
  private lose(run: Run): void {
    this.executor.forget(run);
    loseLease(this.context, run); // reported here too: the handler may have ended before a renewal was refused
    run.delivery.release(leasePause(run.delivery.header.index, this.context));
    this.changed();
  }

  /** Lets a copy wait until `due`, ledger time: held here if it is a primary and that is soon, else on its node. */
  private waitUntil(delivery: Delivery, due: number): void {
    const { ledger, backupDelay } = this.context;
    const delay = copyDelay(delivery.header.index, due - ledger.now(), backupDelay);
    // A copy that is released for no time would be back at once, and again, until its time has come.
    if (delay > 0 || this.reserver.releasesAll) return delivery.release(delay);
    if (delivery.held) this.claims.postpone(delivery, due);
  }

  // ── what happens around deliveries ──

  private gateChanged(change: GateChange): void {
    switch (change) {
      case 'open':
        this.heartbeat.start();
        return this.reserver.start();
      case 'suspended':
        this.reserver.pause();
        return this.changed();
      case 'back':
        this.flush();
        return this.heartbeat.beat(); // what this process still runs
    }
  }

  private changed(): void {
    // Others may reach the ledger, or run what this process does not begin any more.
    if (this.reserver.releasesAll) this.claims.releaseAll();
    this.reserver.schedule();
    this.wait.tell();
  }

  /** Sends to the ledger at once what waits to be sent. */
  private flush(): void {
    this.completion.flush();
    this.again.flush();
    this.burier.flush();
  }

  private async drain(limit: number): Promise<void> {
    const { tube, budget, gate, runs, report, ledger } = this.context;
    this.reserver.stop();
    this.claims.releaseAll();
    const idle = () => budget.taken === 0;
    await this.wait.until(idle, limit);
    if (!idle()) {
      const cut = Array.from(runs.values()).filter(({ handling }) => handling).length;
      if (cut > 0) report.cutOff(tube, cut, limit);
      this.executor.abortAll(
        new DqError('DQ_SHUTDOWN', `the process shuts down, and its drain limit of ${limit} ms is over`),
      );
      await this.wait.until(idle, ABORT_GRACE);
      this.executor.giveUp();
    }
    this.flush();
    const unanswered = [this.completion, this.again, this.burier, this.deleter];
    const told = () => unanswered.every(({ size }) => size === 0);
    await this.wait.until(told, STORING);
    this.again.stopStoring();
    await this.wait.until(told, LAST_WORDS);
    gate.close();
    this.heartbeat.stop();
    for (const part of [this.completion, this.again, this.burier, this.claims, this.limited, this.starts])
      part.close();
    ledger.abandonRuns(); // with Redis away not every run could be ended
    await this.reserver.close();
  }
}
