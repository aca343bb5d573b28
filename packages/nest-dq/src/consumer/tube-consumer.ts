// ◆ marks a rule of docs/internals/delivery.md.
import { DqError } from '../errors.js';
import type { BatchHandlerMethod, HandlerMethod } from '../api/job.js';
import { storedTube } from '../api/tube.js';
import { copyDelay } from '../copies/timing.js';
import type { Sent } from '../ledger/batcher.js';
import type { LimitChange } from '../fleet/limit-changes.js';
import type { TubeLoad, LongRun } from '../fleet/presence.js';
import type { ClaimAnswer, CompleteAnswer } from '../ledger/requests.js';
import { BatchBudget } from './batch/batch-budget.js';
import { BatchQueue } from './batch/batch-queue.js';
import { Batches } from './batch/batches.js';
import { busyPause, ClaimQueue, leasePause, LOOK_AGAIN, YOUNG_RUN } from './claim/claim-queue.js';
import { LimitedCopies } from './claim/limited-copies.js';
import { AgainScheduler } from './finish/again-scheduler.js';
import { CopyBurier } from './finish/copy-burier.js';
import { CopyDeleter } from './finish/copy-deleter.js';
import { reportDeath, reportExpired, reportRun, RunCompletion } from './finish/run-completion.js';
import { Heartbeat } from './heartbeat.js';
import { LedgerGate, type GateChange, type GateListener } from './ledger-gate.js';
import type { Delivery, HeldUntil } from './reserve/delivery.js';
import { ReserveBudget } from './reserve/reserve-budget.js';
import { Reserver } from './reserve/reserver.js';
import { Executor, StartScheduler } from './run/executor.js';
import { changedBy, slotsOf, type HandlerSettings } from './run/handler-settings.js';
import type { Completion, RunOutcome } from './run/outcome.js';
import { ProgressWriter } from './run/progress.js';
import { type Grant, loseLease, Run } from './run/run.js';
import type { ConsumerParts, ConsumerSettings, TubeContext, TubeLife } from './tube-context.js';

const BACK = { kind: 'back' } as const;
/** Max time by which a copy may surface early. One that is earlier is released, because its node's clock is fast. */
const MAX_EARLY_MS = 1_100;
/** If a copy is earlier than this, reserving from its node may pause: the copies queued behind it are early too. */
const NO_HURRY_MS = 10;
/** How long handlers have to return after their signal was aborted. */
const ABORT_GRACE_MS = 250;
/** How long a stop waits for copies that are being stored. */
const STORING_LIMIT_MS = 500;
/** How long a stop waits for the last answers of the ledger and the nodes. */
const LAST_ANSWERS_MS = 1_500;

/** Consumes one tube in one process. `live` follows one copy from its reservation until it is released, buried or deleted. */
export class TubeConsumer implements TubeLife, GateListener {
  private readonly context: TubeContext;
  private readonly reserver: Reserver;
  private readonly claims: ClaimQueue;
  /** Undefined if the handler takes single jobs. */
  private readonly batches: Batches | undefined;
  private readonly limited: LimitedCopies;
  private readonly starts: StartScheduler;
  private readonly executor: Executor;
  private readonly again: AgainScheduler;
  private readonly completion: RunCompletion;
  private readonly deleter: CopyDeleter;
  private readonly burier: CopyBurier;
  private readonly heartbeat: Heartbeat;
  private readonly progress: ProgressWriter;
  /** Number of runs granted by the ledger whose completion it hasn't acknowledged yet. */
  private granted = 0;
  private change: LimitChange | undefined;
  private started = false;
  private stopping: Promise<void> | undefined;
  /** Rechecks the condition that a drain is waiting for; undefined if there is none. */
  private lookAgain: (() => void) | undefined;

  constructor(
    readonly tube: string,
    handler: HandlerMethod | BatchHandlerMethod,
    /** As declared, without what an operator changed. */
    private readonly declared: HandlerSettings,
    { prefix, backupDelay, lease, keepErrors = true, keepDone }: ConsumerSettings,
    parts: ConsumerParts & Pick<TubeContext, 'sharedLanes' | 'beats' | 'sharing'>,
  ) {
    const { clock, around } = parts;
    const batches = (this.batches =
      declared.batch && new Batches(declared.batch, declared.concurrency, handler as BatchHandlerMethod));
    const single = batches ? batches.run : (handler as HandlerMethod);
    const storedAs = storedTube(tube, prefix);
    const ledger = parts.ledger.tube(storedAs);
    const context: TubeContext = (this.context = {
      ...parts,
      tube,
      storedAs,
      ledger,
      handling: declared,
      backupDelay,
      lease,
      keepErrors,
      keepDone,
      gate: new LedgerGate(ledger, clock, parts.admission),
      budget: batches
        ? new BatchBudget(clock, slotsOf(declared), batches)
        : new ReserveBudget(clock, slotsOf(declared)),
      life: this,
      progress: (this.progress = new ProgressWriter({ ...parts, tube, ledger })),
      runs: new Map(),
    });
    this.claims = batches ? new BatchQueue(context, batches) : new ClaimQueue(context);
    this.limited = new LimitedCopies(context, this.claims);
    this.reserver = new Reserver(context, this.claims, this.limited);
    this.starts = new StartScheduler(context);
    this.executor = new Executor(context, around ? around(single) : single);
    this.completion = new RunCompletion(context);
    this.deleter = new CopyDeleter(context);
    this.again = new AgainScheduler(context, this.deleter);
    this.burier = new CopyBurier(context, this.deleter);
    this.heartbeat = new Heartbeat(context, this.reserver);
  }

  /** Applies what an operator changed, or nothing. Granted runs continue. */
  relimit(change: LimitChange | undefined): void {
    // An adoption isn't a run: the limits apply to the adopted job.
    if (change === this.change || this.context.sharing.adopts) return;
    this.change = change;
    const { context } = this;
    context.handling = changedBy(this.declared, change);
    context.budget.concurrency = slotsOf(context.handling);
    if (this.batches) this.batches.concurrency = context.handling.concurrency;
    this.changed();
  }

  /** Held and running jobs of the tube in this process. */
  get load(): TubeLoad {
    const { until = 0 } = this.change ?? {};
    return { ...loadOf(this.context, this.claims.size), ...(this.change && { changedUntil: until }) };
  }

  /** Starts consuming once the ledger and a node answer. Idempotent; does nothing after `stop`. */
  start(): void {
    if (this.started || this.stopping) return;
    this.started = true;
    this.context.gate.start(this);
  }

  /**
   * Drains: reserves nothing more, releases copies whose run hasn't started, waits up to `limit` ms for handlers, then aborts
   * their signals and hands their runs back without counting the attempt. Idempotent, and allowed before `start`.
   */
  stop(limit: number): Promise<void> {
    return (this.stopping ??= this.drain(limit));
  }

  // ── a copy, from its node to its end ──

  arrived(delivery: Delivery): boolean {
    const { ledger, backupDelay } = this.context;
    const { index, due } = delivery.header;
    const early = due - ledger.now();
    if (this.reserver.releasesAll) delivery.release(0);
    else if (early > MAX_EARLY_MS) delivery.release(copyDelay(index, early, backupDelay));
    else void this.live(delivery);
    return early > NO_HURRY_MS;
  }

  /** Never rejects. Resolves when the copy has been released, buried or deleted, or its node has taken it back. */
  private async live(delivery: Delivery): Promise<void> {
    const { budget } = this.context;
    // Only a primary is held until its due time. A backup is claimed immediately, to find out whether it is needed.
    let heldUntil: HeldUntil = delivery.primary ? delivery.due : 0;
    while (heldUntil !== undefined) {
      const claim = await this.claims.claim(delivery, heldUntil);
      if (!claim) return;
      budget.claiming--;
      heldUntil =
        claim.answer.kind === 'run'
          ? await this.run(delivery, claim.answer, claim.sent)
          : this.handleRefusal(delivery, claim.answer);
      this.changed();
    }
  }

  /** Runs the handler, completes the run in the ledger, and disposes of the copy. */
  private async run(delivery: Delivery, grant: Grant, sent: Sent): Promise<HeldUntil> {
    const { context } = this;
    const { budget } = context;
    const run = new Run(delivery, grant, sent, context);
    this.granted++;
    if (!this.starts.isDue(run)) {
      budget.starting++;
      await this.starts.due(run);
      budget.starting--;
    }
    // Another process may have the job by now ◆: handlers granted in the same batch may have blocked the event loop.
    const tooLate = context.clock.now() > run.usableUntil;
    // It waited for a turn or the event loop ◆: its next claim finds it expired.
    const expired = run.startBy !== undefined && context.ledger.now() >= run.startBy;
    const handedBack = expired || tooLate || this.reserver.stopped;
    const outcome = handedBack ? BACK : await this.executor.run(run);
    this.batches?.left(delivery); // unless its handler has got it
    const completion = outcome.kind === 'again' ? await this.storeNext(run, outcome) : outcome;
    const answer = completion.kind === 'lost' ? 'refused' : await this.completion.complete(run, completion);
    this.granted--;
    this.executor.forget(run);
    return this.handleCompletion(run, answer);
  }

  /** Called when the handler returned `Again`: stores the next copies before the run is completed. */
  private async storeNext(
    run: Run,
    outcome: Extract<RunOutcome, { kind: 'again' }>,
  ): Promise<Completion | { kind: 'lost' }> {
    const next = await this.again.schedule(run, outcome);
    if (next.kind !== 'failed') return next;
    const failure = this.executor.outcomeOf(run, next.error);
    return failure.kind === 'again' ? BACK : failure;
  }

  /** Handles every answer to a claim except a grant. */
  private handleRefusal(delivery: Delivery, answer: Exclude<ClaimAnswer, Grant>): HeldUntil {
    const { context } = this;
    const { ledger, handling, gate } = context;
    const { index, due, foreign, attempts = handling.attempts } = delivery.header;
    switch (answer.kind) {
      case 'wait':
        return this.waitUntil(delivery, ledger.now() + answer.ms);
      case 'busy':
        if (this.reserver.releasesAll) return release(delivery, busyPause(index, answer, context));
        if (foreign) return ledger.now() + LOOK_AGAIN;
        if (answer.ranFor < YOUNG_RUN) return ledger.now() + YOUNG_RUN;
        return release(delivery, busyPause(index, answer, context));
      case 'paused':
        gate.pause(answer.ms);
        return release(delivery, 0);
      case 'limited':
        if (this.reserver.releasesAll) return release(delivery, 0);
        return this.limited.hold(delivery, answer);
      case 'gone':
        this.deleter.delete(delivery, false); // the process that ended the job couldn't delete this copy
        return undefined;
      case 'expired':
      case 'dead':
      case 'stale':
        if (answer.kind === 'expired' && !answer.letter) {
          reportExpired(context, delivery);
          this.deleter.delete(delivery, true);
          return undefined;
        }
        if (answer.kind === 'expired') reportDeath(context, delivery, { why: 'expired', due, attempt: 0 });
        else if (answer.kind === 'stale') reportDeath(context, delivery, { why: 'stale', due, attempt: 0 });
        else if (answer.fresh) reportDeath(context, delivery, { why: 'attempts', due, attempt: attempts });
        this.burier.bury(delivery);
        return undefined;
    }
  }

  /** Handles every answer to a completion. */
  private handleCompletion(run: Run, answer: CompleteAnswer): HeldUntil {
    const { delivery, completion, nextDue } = run;
    const aborted = completion && answer !== (completion.kind === 'again' ? 'ok' : 'refused');
    if (aborted && 'next' in completion) {
      const { generation, places } = completion.next;
      this.deleter.deleteVoid({ id: run.id, generation }, places);
    }
    if (answer === 'refused') return this.lose(run);
    this.limited.returned(run.permit);
    reportRun(this.context, run, answer);
    switch (answer === 'over' ? 'over' : completion!.kind) {
      case 'done':
      case 'again': // the job lives on in its new copies
      case 'over': // revoked or replaced while it ran
        this.deleter.delete(delivery, true);
        return undefined;
      case 'retry':
      case 'later':
        return this.waitUntil(delivery, nextDue);
      case 'back':
        return release(delivery, 0);
      case 'dead':
        this.burier.buryNoted(delivery);
        return undefined;
    }
  }

  /** Handles a lost lease: another run has taken over. */
  private lose(run: Run): HeldUntil {
    loseLease(this.context, run); // also reported here, because the handler may have returned before a renewal was refused
    return release(run.delivery, leasePause(run.delivery.header.index, this.context));
  }

  /** Makes a copy wait until `due` (ledger time): here if it is a primary and due soon, otherwise on its node. */
  private waitUntil(delivery: Delivery, due: number): HeldUntil {
    const { ledger, backupDelay } = this.context;
    const delay = copyDelay(delivery.header.index, due - ledger.now(), backupDelay);
    // Released without a delay, the copy would come straight back, again and again, until it is due.
    if (delay > 0 || this.reserver.releasesAll) return release(delivery, delay);
    return delivery.held ? due : undefined;
  }

  // ── what happens around deliveries ──

  gateChanged(change: GateChange): void {
    switch (change) {
      case 'open':
        this.heartbeat.start();
        return this.reserver.start();
      case 'suspended':
        this.reserver.pause();
        return this.changed();
      case 'back':
        this.flush();
        return this.heartbeat.beat(); // reports what this process is still running
    }
  }

  changed(): void {
    // Other processes may still reach the ledger and can run what this one won't start.
    if (this.reserver.releasesAll) this.claims.releaseAll();
    this.reserver.schedule();
    this.copyGone();
  }

  copyGone(): void {
    this.lookAgain?.();
  }

  /** Sends all queued ledger calls immediately. */
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
    await this.until(idle, limit);
    if (!idle()) {
      const cut = Array.from(runs.values()).filter(({ handling }) => handling).length;
      if (cut > 0) report.cutOff(tube, cut, limit);
      this.executor.abortAll(
        new DqError(
          'DQ_SHUTDOWN',
          `the process is shutting down and its shutdown timeout of ${limit} ms has expired`,
        ),
      );
      await this.until(idle, ABORT_GRACE_MS);
      this.executor.giveUp();
    }
    this.flush();
    const answered = () => this.granted + this.burier.size + this.deleter.size === 0;
    await this.until(answered, STORING_LIMIT_MS);
    this.again.stopStoring();
    await this.until(answered, LAST_ANSWERS_MS);
    gate.close();
    this.heartbeat.stop();
    for (const part of [
      this.completion,
      this.again,
      this.burier,
      this.claims,
      this.limited,
      this.starts,
      this.progress,
    ])
      part.close();
    ledger.abandonRuns(); // if Redis was unreachable, some runs could not be completed
    await this.reserver.close();
  }

  /** Resolves once the condition, checked after every change, holds, or after `limit` ms. Only one call may be pending. */
  private until(condition: () => boolean, limit: number): Promise<void> {
    if (condition()) return Promise.resolve();
    return new Promise((resolve) => {
      const end = () => {
        timer.cancel();
        this.lookAgain = undefined;
        resolve();
      };
      const timer = this.context.clock.after(limit, end);
      this.lookAgain = () => {
        if (condition()) end();
      };
    });
  }
}

/** Releases a copy to any process, after `delay` whole seconds. */
function release(delivery: Delivery, delay: number): HeldUntil {
  delivery.release(delay);
  return undefined;
}

/** Runs longer than this are listed individually. */
const LONG_RUN_MS = 1_000;
const MAX_LONG_RUNS = 100;

/** Returns the held and running jobs of a tube in this process, from memory. A cluster that encrypts its jobs shows no keys. */
export function loadOf(
  { tube, budget, runs, clock, handling, cluster }: TubeContext,
  held: number,
): TubeLoad {
  const now = clock.now();
  const isSecret = cluster.settings.seal?.settings.encrypt === true;
  const long: LongRun[] = [];
  for (const { id, grant, hasSlot, startedAt, delivery, progress } of runs.values()) {
    const runFor = now - startedAt;
    if (!hasSlot || runFor < LONG_RUN_MS || long.length === MAX_LONG_RUNS) continue;
    const { key } = delivery.header;
    long.push({
      id,
      ...(key !== undefined && !isSecret && { key }),
      attempt: grant.attempt,
      runFor,
      ...(progress && { hasProgress: true }),
    });
  }
  const { limit, attempts, backoff, expireAfter } = handling;
  return {
    tube,
    concurrency: budget.concurrency,
    attempts,
    ...(typeof backoff === 'object' && { backoff }),
    ...(expireAfter !== undefined && { expireAfter }),
    ...(limit && { limits: limit }),
    running: budget.handling,
    held,
    long,
  };
}
