import type { StandardSchemaV1 } from '@standard-schema/spec';
import { decodePayload } from '../../copies/payload.js';
import { DqError, toError } from '../../errors.js';
import type { EventHub } from '../../events/event-hub.js';
import type { HandlerMethod } from '../../api/job.js';
import type { TubeLedger } from '../../ledger/ledger.js';
import { checkPayload, type Checked } from '../../api/schema.js';
import { isThenable } from '../../structures/thenable.js';
import type { Clock } from '../../time/clock.js';
import type { Delivery } from '../reserve/delivery.js';
import type { HandlerSettings } from './handler-settings.js';
import { deathOf, isOutcome, judge, type Verdict } from './outcome.js';
import type { ConsumerReport } from '../report.js';
import { RunningJob, type Grant, Run, type TubeNames } from './run.js';
import { Timeouts } from './timeouts.js';

export interface ExecutorParts {
  readonly ledger: TubeLedger;
  readonly clock: Clock;
  readonly report: ConsumerReport;
  readonly events: EventHub;
}

export interface ExecutorEvents {
  /** It is said what becomes of a run. After a timeout its handler may still be at it. */
  ended(run: Run, verdict: Verdict): void;
  /** A handler returned, or is no longer waited for. */
  freed(): void;
}

const DONE: Verdict = { kind: 'done' };
const BACK: Verdict = { kind: 'back' };

/** Calls the handler of one tube and judges how it ended. It knows nothing of nodes. */
export class Executor {
  private readonly runs = new Map<string, Run>();
  private readonly timeouts: Timeouts;
  private slots = 0;
  private shuttingDown = false;

  constructor(
    private readonly names: TubeNames,
    private readonly handler: HandlerMethod,
    private readonly settings: HandlerSettings,
    private readonly parts: ExecutorParts,
    private readonly events: ExecutorEvents,
  ) {
    const { timeout } = settings;
    this.timeouts = new Timeouts(parts.clock, timeout, {
      over: (run) =>
        this.timeOut(run, `the handler of ${names.tube} took longer than its timeout of ${timeout} ms`),
      overran: (run) => this.overrun(run),
    });
  }

  /** Handlers that have not returned, without those that are no longer waited for. */
  get handling(): number {
    return this.slots;
  }

  /** All runs whose outcome the ledger has not taken. */
  all(): Iterable<Run> {
    return this.runs.values();
  }

  /** Whether this process runs a generation of a job, or has run it and not told the ledger yet. */
  has({ id, generation }: { readonly id: string; readonly generation: number }): boolean {
    return this.runs.get(id)?.delivery.header.generation === generation;
  }

  start(delivery: Delivery, grant: Grant, claimedAt: number): void {
    const run = new Run(delivery, grant, claimedAt);
    this.runs.set(run.id, run);
    this.slots++;
    let payload: unknown;
    try {
      payload = decodePayload(delivery.content); // first: what cannot be read never starts
    } catch (unreadable) {
      return this.refuse(run, toError(unreadable));
    }
    run.startedAt = this.parts.clock.now();
    this.timeouts.begin(run);
    const { schema } = this.settings;
    if (schema) this.check(run, schema, payload);
    else this.handle(run, payload);
  }

  /** A run is a failure, whatever its handler said or will say. */
  fail(run: Run, error: Error): void {
    this.end(run, this.judge(run, error));
  }

  /** The ledger has taken the run's outcome. */
  forget(run: Run): void {
    if (this.runs.get(run.id) === run) this.runs.delete(run.id);
  }

  /** Raises the signal of every handler that still runs: the drain limit is over. */
  abortAll(reason: DqError): void {
    this.shuttingDown = true;
    for (const run of this.runs.values()) if (run.handling) run.abort.abort(reason);
  }

  /** Gives back what still runs, without its attempt; what the handlers come to no longer counts. */
  giveUp(): void {
    this.timeouts.close();
    for (const run of this.runs.values()) {
      if (!run.handling) continue;
      this.end(run, BACK);
      this.free(run);
    }
  }

  /** An invalid payload is dead at once; where the schema itself fails, that is the run's failure. */
  private check(run: Run, schema: StandardSchemaV1, stored: unknown): void {
    run.job = this.jobOf(run, stored); // whose failure is told
    let checked: Checked | PromiseLike<Checked>;
    try {
      checked = checkPayload(schema, stored, this.names.tube);
    } catch (error) {
      return this.threw(run, error);
    }
    if (!isThenable(checked)) return this.checked(run, checked);
    checked.then(
      (later) => this.checked(run, later),
      (error: unknown) => this.threw(run, error),
    );
  }

  private checked(run: Run, checked: Checked): void {
    if (checked instanceof DqError) return this.refuse(run, checked);
    if (run.handling && !this.shuttingDown) return this.handle(run, checked.payload);
    this.threw(run, run.abort.signal.reason); // too late to begin
  }

  /** Its handler never sees it. */
  private refuse(run: Run, error: Error): void {
    run.job = undefined;
    if (run.handling) this.end(run, { kind: 'dead', death: deathOf('invalid', error), error });
    this.free(run);
  }

  private handle(run: Run, payload: unknown): void {
    const job = (run.job = this.jobOf(run, payload));
    this.parts.events.started(job);
    let result: unknown;
    try {
      result = this.handler(job.payload, job);
      // A promise costs a turn; a plain value is taken at once.
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
    const lateness = this.parts.ledger.now() - run.grant.due;
    return new RunningJob(run, this.names, this.attemptsOf(run), lateness, payload);
  }

  private returned(run: Run, result: unknown): void {
    this.settle(run, result, isOutcome(result));
  }

  private threw(run: Run, error: unknown): void {
    this.settle(run, error, true); // an outcome may be thrown, too
  }

  private settle(run: Run, result: unknown, judged: boolean): void {
    const { handling, abandoned } = run;
    if (handling) {
      run.result = result;
      this.end(run, judged ? this.judge(run, result) : DONE);
    }
    if (!abandoned) return this.free(run);
    if (handling) {
      this.timeouts.outlive(run);
      const fact = `an interceptor ended the run before the handler of ${this.names.tube} returned`;
      run.abort.abort(new DqError('DQ_TIMEOUT', fact));
    }
    void abandoned.then(() => this.free(run));
  }

  private timeOut(run: Run, fact: string): void {
    const error = new DqError('DQ_TIMEOUT', fact);
    this.fail(run, error); // before the signal: what the handler says to that is too late
    run.abort.abort(error);
  }

  private overrun(run: Run): void {
    this.parts.report.overran(this.names.tube, run.id, run.grant.attempt);
    this.free(run);
  }

  private end(run: Run, verdict: Verdict): void {
    run.handling = false;
    run.endedAt = this.parts.clock.now();
    this.events.ended(run, verdict);
  }

  private free(run: Run): void {
    if (!run.hasSlot) return; // its return was not waited for
    run.hasSlot = false;
    this.slots--;
    this.timeouts.end(run);
    this.events.freed();
  }

  private judge(run: Run, thrown: unknown): Verdict {
    // What our own signal ended is no failure: a shutdown costs no attempt, and a revoked job becomes no dead letter.
    if ((this.shuttingDown || run.revoked) && !isOutcome(thrown)) return BACK;
    const { grant, delivery } = run;
    const backoff = delivery.header.backoff ?? this.settings.backoff;
    return judge(thrown, { attempt: grant.attempt, attempts: this.attemptsOf(run), backoff });
  }

  private attemptsOf({ delivery }: Run): number {
    return delivery.header.attempts ?? this.settings.attempts;
  }
}
