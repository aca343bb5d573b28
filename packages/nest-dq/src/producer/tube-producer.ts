import type { Duration, When } from 'nest-handlers/time';
import type {
  AddResult,
  JobOptions,
  JobReceipt,
  JobView,
  NewJob,
  PacedOptions,
  PatienceOptions,
  RescheduleResult,
  RevokeOptions,
  RevokeResult,
  TubeJobRef,
} from '../api/job.js';
import type { JobEnd } from '../api/job-end.js';

/**
 * A producer bound to one tube, from `producer.tube(OrderCancel)`. Has the calls of `DqProducer` without the parameter `tube`,
 * and accepts a bare key or id of this tube. Throws what `DqProducer` throws. `DQ_BAD_REF`: the reference is to a job of another
 * tube.
 */
export abstract class TubeProducer<In = unknown> {
  /** Adds a job that runs as soon as a consumer is free. */
  abstract now(payload: In, options?: JobOptions): Promise<JobReceipt>;

  /** Adds a job that runs after a delay. */
  abstract delay(payload: In, delay: Duration, options?: JobOptions): Promise<JobReceipt>;

  /** Adds a job that runs at a given time. */
  abstract at(payload: In, when: When, options?: JobOptions): Promise<JobReceipt>;

  /** Runs one job for a burst of calls with the same `key`: `wait` after the last, at most `max` after the first. */
  abstract debounce(
    payload: In,
    options: PacedOptions & { wait: Duration; max?: Duration },
  ): Promise<JobReceipt>;

  /** Runs the first call with a `key` at once, and all later ones as one job, `per` after the start of the previous run. */
  abstract throttle(payload: In, options: PacedOptions & { per: Duration }): Promise<JobReceipt>;

  /** Adds many jobs. Resolves with their receipts, in the order of `jobs`; rejects with all `failures` if some fail. */
  abstract addMany(jobs: Iterable<NewJob<In>>, options?: { results?: false }): Promise<JobReceipt[]>;
  /** With `results: true`, resolves with a receipt or an error for each job. */
  abstract addMany(jobs: Iterable<NewJob<In>>, options: { results: true }): Promise<AddResult[]>;

  /** Stops a job. `revoked`: it will never start. */
  abstract revoke(ref: TubeJobRef, options?: RevokeOptions): Promise<RevokeResult>;

  /** Gives a job that isn't running a new time, and a new payload if you pass one. The tube's schema validates the payload. */
  abstract reschedule(
    ref: TubeJobRef,
    when: When | { readonly delay: Duration },
    options?: PatienceOptions & { payload?: In; allowPast?: boolean },
  ): Promise<RescheduleResult>;

  /** Resolves with the state of a job. Undefined if no job has that key, or the job is forgotten. */
  abstract find(ref: TubeJobRef, options?: PatienceOptions): Promise<JobView | undefined>;

  /** Waits for the end of a job, wherever it runs, and resolves with it. See `DqProducer.finished`. */
  abstract finished<Result = unknown>(
    ref: TubeJobRef,
    options?: { timeout?: Duration; signal?: AbortSignal },
  ): Promise<JobEnd<Result>>;
}
