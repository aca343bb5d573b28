import type { StandardSchemaV1 } from '@standard-schema/spec';
import { detached, isThenable, wrongResult } from 'nest-handlers/context';
import { checkPayload, type Checked } from 'nest-handlers/schema';
import { namesOf } from '../../copies/encoded.js';
import { decodePayload, encodedIn } from '../../copies/payload.js';
import { DqError, toError } from '../../errors.js';
import type { HandlerMethod } from '../../api/job.js';
import { refusalOf } from '../../api/schema.js';
import { type Timer, Heap } from 'nest-handlers/time';
import type { TubeContext } from '../tube-context.js';
import { deathOf, isOutcome, outcomeOf, OUTCOMES, type RunOutcome } from './outcome.js';
import { RunningJob, type Run } from './run.js';
import { WakeTimer } from '../../time/wake-timer.js';

/** How long a handler keeps its slot after its run has ended. */
const GRACE_MS = 5_000;
/** Min delay of a retry meant for another process. After a shorter one the copy wouldn't go back to its node. */
const LEAVE_MS = 2_000;
const DONE: RunOutcome = { kind: 'done' };
const BACK: RunOutcome = { kind: 'back' };

/** Calls the handler of one tube and determines the outcome of each run. Knows nothing about nodes. */
export class Executor {
  /** One timer for each run that has a timeout, or has ended before its handler returned. */
  private readonly timers = new Map<Run, Timer>();
  private shuttingDown = false;

  constructor(
    private readonly context: TubeContext,
    private readonly handler: HandlerMethod,
  ) {}

  /** Takes a slot and calls the handler. Resolves with the outcome; after a timeout the handler may still be running. */
  run(run: Run): Promise<RunOutcome> {
    return new Promise((resolve) => {
      run.end = resolve;
      this.start(run);
    });
  }

  private start(run: Run): void {
    const { context } = this;
    context.runs.set(run.id, run);
    context.budget.handling++;
    if (run.delivery.header.foreign) return this.adopt(run);
    let payload: unknown;
    try {
      payload = decodePayload(run.delivery.content, context.handling.codecs); // first: an unreadable job never starts
    } catch (unreadable) {
      if (this.lacksCodec(run)) return this.leave(run, toError(unreadable));
      return this.refuse(run, toError(unreadable));
    }
    run.startedAt = context.clock.now();
    detached(() => this.begin(run, payload)); // or it would run in the async context of a producer or of another run
  }

  private begin(run: Run, payload: unknown): void {
    const { timeout, schema } = this.context.handling;
    if (timeout !== undefined) this.arm(run, timeout, () => this.timeOut(run, timeout));
    if (schema) this.check(run, schema, payload);
    else this.lock(run, payload);
  }

  /** Called when the ledger has answered the run's completion. */
  forget(run: Run): void {
    const { runs } = this.context;
    if (runs.get(run.id) === run) runs.delete(run.id);
  }

  /** Aborts the signal of every running handler, once the shutdown timeout has passed. */
  abortAll(reason: DqError): void {
    this.shuttingDown = true;
    for (const run of this.context.runs.values()) if (run.handling) run.abort(reason);
  }

  /** Hands back every run that hasn't ended, without counting the attempt. Later results of their handlers are ignored. */
  giveUp(): void {
    for (const timer of this.timers.values()) timer.cancel();
    this.timers.clear();
    for (const run of this.context.runs.values()) {
      if (!run.handling) continue;
      this.end(run, BACK);
      this.free(run);
    }
  }

  /** Validates the payload. An invalid one makes the job dead immediately; an error thrown by the schema fails the run. */
  private check(run: Run, schema: StandardSchemaV1, stored: unknown): void {
    run.job = this.jobOf(run, stored); // for the report of a failure
    let checked: Checked<DqError> | PromiseLike<Checked<DqError>>;
    try {
      checked = checkPayload(schema, stored, refusalOf(this.context.tube));
    } catch (error) {
      return this.threw(run, error);
    }
    if (!isThenable(checked)) return this.checked(run, checked);
    checked.then(
      (later) => this.checked(run, later),
      (error: unknown) => this.threw(run, error),
    );
  }

  private checked(run: Run, checked: Checked<DqError>): void {
    if (checked instanceof DqError) return this.refuse(run, checked);
    if (run.handling && !this.shuttingDown) return this.lock(run, checked.payload);
    this.threw(run, run.signal.reason); // too late to begin
  }

  /** Ends a run whose handler never sees the job. */
  private refuse(run: Run, error: Error): void {
    run.job = undefined;
    if (run.handling) this.end(run, { kind: 'dead', death: deathOf('invalid', error), error });
    this.free(run);
  }

  private lacksCodec({ delivery }: Run): boolean {
    const encoded = encodedIn(delivery.content);
    return encoded !== undefined && !namesOf(this.context.handling.codecs).includes(encoded.codec);
  }

  /** Ends an attempt that this process can't make: another one may have the codec, as during a deploy. */
  private leave(run: Run, error: Error): void {
    run.startedAt = this.context.clock.now();
    run.job = this.jobOf(run, undefined); // for the report of the failure
    const outcome = this.outcomeOf(run, error);
    if (outcome.kind === 'dead') this.end(run, { ...outcome, death: deathOf('invalid', error) });
    else if (outcome.kind !== 'retry') this.end(run, outcome);
    else this.end(run, { ...outcome, delay: Math.max(outcome.delay, LEAVE_MS) });
    this.free(run);
  }

  /** Adopts a job in another program's format. */
  private adopt(run: Run): void {
    const { context } = this;
    run.startedAt = context.clock.now();
    void context.sharing.adopt(run, context).then((outcome) => {
      if (run.handling) this.end(run, outcome);
      this.free(run);
    });
  }

  /** Runs a job that another program might also run, only if its lock can be acquired. */
  private lock(run: Run, payload: unknown): void {
    const locking = this.context.sharing.lock(run, this.context);
    if (!locking) return this.handle(run, payload);
    void locking.then((refused) => {
      if (!refused && run.handling && !this.shuttingDown) return this.handle(run, payload);
      run.job = undefined; // it wasn't started here
      if (run.handling) this.end(run, refused ?? BACK);
      this.free(run);
    });
  }

  private handle(run: Run, payload: unknown): void {
    const job = (run.job = this.jobOf(run, payload));
    this.context.events.started(job);
    let result: unknown;
    try {
      result = this.handler(job.payload, job);
      // Awaiting costs a turn of the microtask queue, so a plain value is used directly.
      if (isThenable(result)) {
        return void result.then(
          (value) => this.returned(run, value),
          (error: unknown) => this.threw(run, error),
        );
      }
    } catch (error) {
      return this.threw(run, error);
    }
    this.returned(run, result);
  }

  private jobOf(run: Run, payload: unknown): RunningJob {
    const lateness = this.context.ledger.now() - run.grant.due;
    const { seal } = this.context.cluster.settings;
    return new RunningJob(run, this.context, seal, this.attemptsOf(run), lateness, payload);
  }

  private returned(run: Run, result: unknown): void {
    if (isOutcome(result)) return this.conclude(run, result, true);
    const wrong = wrongResult(result, OUTCOMES);
    if (wrong === undefined) return this.conclude(run, result, false);
    const fact = `the handler of ${this.context.tube} returned ${wrong}`;
    this.threw(run, new DqError('DQ_BAD_OPTION', fact, { cause: result }));
  }

  private threw(run: Run, error: unknown): void {
    this.conclude(run, error, true); // an outcome may also be thrown
  }

  private conclude(run: Run, result: unknown, judged: boolean): void {
    const { handling, abandoned } = run;
    if (handling) {
      run.result = result;
      this.end(run, judged ? this.outcomeOf(run, result) : DONE);
    }
    if (!abandoned) return this.free(run);
    if (handling) {
      this.grace(run);
      const fact = `an interceptor ended the run before the handler of ${this.context.tube} returned`;
      run.abort(new DqError('DQ_TIMEOUT', fact));
    }
    void abandoned.then(() => this.free(run));
  }

  private timeOut(run: Run, timeout: number): void {
    this.grace(run);
    const fact = `the handler of ${this.context.tube} exceeded its timeout of ${timeout} ms`;
    const error = new DqError('DQ_TIMEOUT', fact);
    this.end(run, this.outcomeOf(run, error)); // before the abort, so that the handler's reaction to it comes too late
    run.abort(error);
  }

  /** Called when the run has ended, but its handler hasn't returned. */
  private grace(run: Run): void {
    const { tube, report } = this.context;
    this.arm(run, GRACE_MS, () => {
      report.overran(tube, run.id, run.grant.attempt);
      this.free(run);
    });
  }

  private arm(run: Run, ms: number, callback: () => void): void {
    this.disarm(run);
    this.timers.set(run, this.context.clock.after(ms, callback));
  }

  private disarm(run: Run): void {
    this.timers.get(run)?.cancel();
    this.timers.delete(run);
  }

  private end(run: Run, outcome: RunOutcome): void {
    run.handling = false;
    run.endedAt = this.context.clock.now();
    run.end(outcome);
  }

  private free(run: Run): void {
    if (!run.hasSlot) return; // the slot was freed before the handler returned
    run.hasSlot = false;
    this.disarm(run);
    const { budget, clock, life } = this.context;
    budget.ended(run.startedAt === 0 ? 0 : clock.now() - run.startedAt);
    life.changed();
  }

  /** Returns the outcome of a run whose handler threw `thrown`. */
  outcomeOf(run: Run, thrown: unknown): RunOutcome {
    // A run we aborted hasn't failed: a shutdown costs no attempt, and a revoked job doesn't become a dead letter.
    if ((this.shuttingDown || run.revoked) && !isOutcome(thrown)) return BACK;
    const { grant, delivery } = run;
    const backoff = delivery.header.backoff ?? this.context.handling.backoff;
    return outcomeOf(thrown, { attempt: grant.attempt, attempts: this.attemptsOf(run), backoff });
  }

  private attemptsOf({ delivery }: Run): number {
    return delivery.header.attempts ?? this.context.handling.attempts;
  }
}

/** Holds runs granted ahead of their due time until ledger time has certainly reached it. */
export class StartScheduler {
  private readonly heap = new Heap<Run>((a, b) => a.startsAt < b.startsAt);
  private readonly timer: WakeTimer;

  constructor(private readonly context: Pick<TubeContext, 'clock' | 'ledger'>) {
    this.timer = new WakeTimer(context.clock, () => this.wake());
  }

  isDue({ startsAt }: Run): boolean {
    return startsAt <= this.context.ledger.nowAtLeast();
  }

  /** Resolves when the run is due, and never after `close`. */
  due(run: Run): Promise<void> {
    return new Promise((resolve) => {
      run.start = resolve;
      this.heap.add(run);
      this.arm();
    });
  }

  close(): void {
    this.timer.cancel();
  }

  private arm(): void {
    const first = this.heap.peek();
    if (first) this.timer.within(Math.max(0, first.startsAt - this.context.ledger.nowAtLeast()));
  }

  private wake(): void {
    const now = this.context.ledger.nowAtLeast();
    for (let next = this.heap.peek(); next && next.startsAt <= now; next = this.heap.peek()) {
      this.heap.remove(next);
      next.start();
    }
    this.arm(); // needed too if the timer fired early
  }
}
