import type { Duration, When } from 'nest-handlers/time';
import type {
  AddResult,
  JobOptions,
  JobReceipt,
  JobView,
  PatienceOptions,
  RescheduleResult,
  RevokeOptions,
  RevokeResult,
  TubeJobRef,
} from '../api/job.js';

/**
 * The producer of one tube: `producer.tube(OrderCancel)` makes it. It has the calls of `DqProducer` without the parameter
 * `tube`, and takes a key, or an id, alone as one of this tube. It throws what `DqProducer` throws. `DQ_BAD_REF`: the reference is of a
 * job of another tube.
 */
export abstract class TubeProducer<In = unknown> {
  /** The job runs as soon as a consumer is free. */
  abstract now(payload: In, options?: JobOptions): Promise<JobReceipt>;

  /** The job runs when the delay is over. */
  abstract delay(payload: In, delay: Duration, options?: JobOptions): Promise<JobReceipt>;

  /** The job runs at an instant. */
  abstract at(payload: In, when: When, options?: JobOptions): Promise<JobReceipt>;

  /** Adds many jobs, each as `delay` does. Returns one result for each job, in the order of `jobs`. */
  abstract delayMany(jobs: Iterable<JobOptions & { payload: In; delay: Duration }>): Promise<AddResult[]>;

  /** Like `delayMany`, but adds each job as `at` does. */
  abstract atMany(jobs: Iterable<JobOptions & { payload: In; at: When }>): Promise<AddResult[]>;

  /** Stops a job. `revoked`: it will not start any more. */
  abstract revoke(ref: TubeJobRef, options?: RevokeOptions): Promise<RevokeResult>;

  /** Gives a job that does not run a new time, and a new payload if you pass one. The tube's schema checks the payload. */
  abstract reschedule(
    ref: TubeJobRef,
    when: When | { readonly delay: Duration },
    options?: PatienceOptions & { payload?: In; allowPast?: boolean },
  ): Promise<RescheduleResult>;

  /** Tells what is known of a job. Undefined: no job has that key, or the job is not remembered any more. */
  abstract find(ref: TubeJobRef, options?: PatienceOptions): Promise<JobView | undefined>;
}
