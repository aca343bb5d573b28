import { DqError, toError } from '../errors.js';
import type { DelayedJob, HandlerMethod } from '../job.js';
import type { TubeLedger } from '../ledger/ledger.js';
import type { Delivery } from './delivery.js';
import type { HandlerSettings } from './handler-settings.js';
import { deathOf, isOutcome, judgeError, judgeResult, type Verdict } from './outcome.js';
import type { ConsumerReport } from './report.js';
import { RunningJob, type Grant, Run, type TubeNames } from './run.js';

/** Calls the handler of one tube and judges how it ended. It knows nothing of nodes. */
export class Executor {
  private readonly runs = new Map<string, Run>();
  private handlingNow = 0;
  private shuttingDown = false;

  constructor(
    private readonly names: TubeNames,
    private readonly handler: HandlerMethod,
    private readonly settings: HandlerSettings,
    private readonly ledger: TubeLedger,
    private readonly report: ConsumerReport,
    /** A run ended; its slot is free. */
    private readonly onVerdict: (run: Run, verdict: Verdict) => void,
  ) {}

  /** Handlers that have not returned. */
  get handling(): number {
    return this.handlingNow;
  }

  /** All runs whose outcome the ledger has not taken. */
  all(): Iterable<Run> {
    return this.runs.values();
  }

  /** Whether this process runs the job, or has run it and not told the ledger yet. */
  has(id: string): boolean {
    return this.runs.has(id);
  }

  start(delivery: Delivery, grant: Grant, claimedAt: number): void {
    const run = new Run(delivery, grant, claimedAt);
    this.runs.set(run.id, run);
    this.handlingNow++;
    const attempts = delivery.header.attempts ?? this.settings.attempts;
    let job: RunningJob;
    try {
      job = new RunningJob(run, this.names, attempts, this.ledger.now() - grant.due);
    } catch (unreadable) {
      const error = toError(unreadable);
      return this.end(run, { kind: 'dead', death: deathOf('invalid', error), error });
    }
    const limits = {
      attempt: grant.attempt,
      attempts,
      backoff: delivery.header.backoff ?? this.settings.backoff,
    };
    const returned = (result: unknown) => this.end(run, judgeResult(result, limits), job);
    const threw = (error: unknown) => {
      // A handler that heeds its signal by throwing was ended by the shutdown: the attempt does not count.
      const cutShort = this.shuttingDown && !isOutcome(error);
      this.end(run, cutShort ? { kind: 'back' } : judgeError(error, limits), job);
    };
    let result: unknown;
    try {
      result = this.handler(job.payload, job);
      // A promise costs a turn; a plain value is taken at once.
      if (isThenable(result)) return void result.then(returned, threw);
    } catch (error) {
      return threw(error);
    }
    returned(result);
  }

  /** The ledger has taken the run's outcome. */
  forget(run: Run): void {
    if (this.runs.get(run.id) === run) this.runs.delete(run.id);
  }

  /** Somebody else may run the job now. */
  loseLease(run: Run): void {
    if (run.abort.signal.aborted) return;
    run.lost = true;
    run.abort.abort(
      new DqError(
        'DQ_LEASE_LOST',
        `the lease of job ${run.id} in ${this.names.tube} was lost; its outcome will not count`,
      ),
    );
    this.report.leaseLost(this.names.tube, run.id, run.grant.attempt);
  }

  /** Raises the signal of every handler that still runs: the drain limit is over. */
  abortAll(reason: DqError): void {
    this.shuttingDown = true;
    for (const run of this.runs.values()) if (run.handling) run.abort.abort(reason);
  }

  /** Gives back what still runs, without its attempt; what the handlers come to no longer counts. */
  giveUp(): void {
    for (const run of this.runs.values()) if (run.handling) this.end(run, { kind: 'back' });
  }

  private end(run: Run, verdict: Verdict, job?: DelayedJob): void {
    if (!run.handling) return; // given up before
    run.handling = false;
    this.handlingNow--;
    this.onVerdict(run, verdict);
    if (!job || run.lost) return; // what a lost run came to does not count
    if (verdict.kind === 'retry') {
      this.report.failed(job, verdict.error, new Date(this.ledger.now() + verdict.delay));
    } else if (verdict.kind === 'dead') {
      this.report.failed(job, verdict.error);
    }
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | undefined)?.then === 'function';
}
