import type { Duration, When } from 'nest-handlers/time';
import type {
  AddResult,
  JobOptions,
  JobReceipt,
  JobRef,
  JobView,
  NewJob,
  PacedOptions,
  PatienceOptions,
  RescheduleResult,
  RevokeOptions,
  RevokeResult,
} from '../api/job.js';
import type { JobEnd } from '../api/job-end.js';
import type { Tube } from '../api/tube.js';
import type { TubeProducer } from './tube-producer.js';

/**
 * Schedules, moves and revokes jobs. Inject it.
 *
 * Every add may reject with `DQ_TOO_FEW_COPIES` (see `indeterminate`), `DQ_BAD_PAYLOAD`, `DQ_BAD_TUBE`, `DQ_BAD_OPTION` and
 * `DQ_CLOSED`. An add without a key doesn't need Redis. An add with a key may also reject with `DQ_LEDGER_DOWN` (see
 * `indeterminate`), `DQ_DUPLICATE` and `DQ_CONFLICT`.
 *
 * While servers are away, a call that certainly had no effect is retried until its `patience` runs out. `DQ_OVERLOADED`: too many
 * calls are waiting for their next try.
 */
export abstract class DqProducer {
  /** Adds a job that runs as soon as a consumer is free. */
  abstract now<In = unknown>(
    tube: string | Tube<In>,
    payload: NoInfer<In>,
    options?: JobOptions,
  ): Promise<JobReceipt>;

  /**
   * Adds a job that runs after a delay. `DQ_BAD_DURATION`: the delay has no unit, is negative, or is 1e12 ms or more. A number
   * that large is a point in time: pass it to `at`.
   */
  abstract delay<In = unknown>(
    tube: string | Tube<In>,
    payload: NoInfer<In>,
    delay: Duration,
    options?: JobOptions,
  ): Promise<JobReceipt>;

  /**
   * Adds a job that runs at a given time. `DQ_PAST_TIME`: the time is more than a second ago, and `allowPast` is not set.
   * `DQ_TOO_FAR`: it is more than 2^32−1 s ahead. `DQ_BAD_TIME`: it isn't a valid time, or it looks like seconds.
   */
  abstract at<In = unknown>(
    tube: string | Tube<In>,
    payload: NoInfer<In>,
    when: When,
    options?: JobOptions,
  ): Promise<JobReceipt>;

  /**
   * Runs one job for a burst of calls with the same `key`: `wait` after the last call, and at most `max` after the first. The last
   * call's payload and options apply. A call during a run starts a new burst, whose job waits for the end of the run. So does a call
   * while the job waits for a retry. Rejects as an add with a key does; `DQ_BAD_DURATION` and `DQ_BAD_OPTION` for `wait` and `max`.
   */
  abstract debounce<In = unknown>(
    tube: string | Tube<In>,
    payload: NoInfer<In>,
    options: PacedOptions & { wait: Duration; max?: Duration },
  ): Promise<JobReceipt>;

  /**
   * Runs the first call with a `key` at once, and all later ones as one job, with the payload and options of the last call, `per` after the
   * start of the previous run. Retries of a failed run don't wait for `per`. `per` is at most `advanced.doneTtl`, for as long as the
   * end of a job is remembered. Rejects as an add with a key does; `DQ_BAD_DURATION` and `DQ_BAD_OPTION` for `per`.
   */
  abstract throttle<In = unknown>(
    tube: string | Tube<In>,
    payload: NoInfer<In>,
    options: PacedOptions & { per: Duration },
  ): Promise<JobReceipt>;

  /**
   * Adds many jobs, each after its `delay`, `at` its time, or now if it has neither. Resolves with their receipts, in the order of
   * `jobs`. If some fail, the others are stored all the same, and the call rejects with the code of the first failure and with
   * all `failures`, by index. Rejects before anything is stored if the tube is invalid or `jobs` is not an iterable of objects.
   * `jobs` may be of any length: the library sends just enough at a time to keep the nodes busy.
   */
  abstract addMany<In = unknown>(
    tube: string | Tube<In>,
    jobs: Iterable<NewJob<NoInfer<In>>>,
    options?: { results?: false },
  ): Promise<JobReceipt[]>;
  /** With `results: true`, resolves with a receipt or an error for each job, even if all of them fail. */
  abstract addMany<In = unknown>(
    tube: string | Tube<In>,
    jobs: Iterable<NewJob<NoInfer<In>>>,
    options: { results: true },
  ): Promise<AddResult[]>;

  /**
   * Stops a job. `revoked`: it won't start any more. `running`: the current run continues, but nothing follows it, neither a
   * retry nor an `Again`. Resolves once Redis has recorded the revoke; copies are deleted afterwards, unless `confirmed` is set.
   * `DQ_LEDGER_DOWN`: Redis did not answer, so the job may or may not be revoked; calling again is safe. `DQ_UNCONFIRMED`: see
   * `confirmed`. Also `DQ_BAD_REF`, `DQ_BAD_TUBE`, `DQ_BAD_OPTION` and `DQ_CLOSED`.
   */
  abstract revoke(ref: JobRef, options?: RevokeOptions): Promise<RevokeResult>;

  /**
   * Gives a job that isn't running a new time, and a new payload if you pass one. A job waiting for a retry is moved too, with a
   * fresh set of attempts. The job's id, receipt and `ref` stay valid. May reject with anything an add with a key does, and with
   * `DQ_NO_COPY` if every node that has a copy is unreachable.
   */
  abstract reschedule<In = unknown>(
    ref: JobRef<In>,
    when: When | { readonly delay: Duration },
    options?: PatienceOptions & { payload?: NoInfer<In>; allowPast?: boolean },
  ): Promise<RescheduleResult>;

  /**
   * Resolves with the state of a job, from Redis, or, if Redis has no record of it, from the nodes named in the reference.
   * Undefined if no job has that key, or the job ended so long ago that it is forgotten. `DQ_LEDGER_DOWN`, `DQ_BAD_REF`,
   * `DQ_CLOSED`.
   */
  abstract find(ref: JobRef, options?: PatienceOptions): Promise<JobView | undefined>;

  /**
   * Waits for the end of a job, wherever it runs, and resolves with it, also if it ended before. A run that returns `Again` is no
   * end. The `result` is there if the job's handler has `keepDone`. Rejects with the reason of `signal`, such as `job.signal`, once
   * that aborts. `DQ_NOT_FINISHED`: the job had not ended after `timeout`, a minute by default. `DQ_UNKNOWN_JOB`: nothing is known of such a job, any more or at all. `DQ_CLOSED`: the module was closed.
   * `DQ_OVERLOADED`: 10,000 calls are waiting. `DQ_BAD_OPTION`: also for a job in go-queue's format. Also `DQ_BAD_REF`,
   * `DQ_BAD_TUBE` and `DQ_BAD_DURATION`.
   */
  abstract finished<Result = unknown>(
    ref: JobRef,
    options?: { timeout?: Duration; signal?: AbortSignal },
  ): Promise<JobEnd<Result>>;

  /** Returns the same calls bound to one tube. `DQ_BAD_TUBE`. */
  abstract tube<In = unknown>(tube: string | Tube<In>): TubeProducer<In>;
}
