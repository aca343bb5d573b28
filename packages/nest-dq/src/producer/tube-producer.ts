import type {
  AddResult,
  JobOptions,
  JobReceipt,
  JobView,
  PatienceOptions,
  RescheduleResult,
  RevokeResult,
  TubeJobRef,
} from '../api/job.js';
import type { Duration } from '../time/duration.js';
import type { When } from '../time/instant.js';

/**
 * A producer bound to one tube, as `producer.tube(OrderCancel)` makes it: all of its calls, without the tube, and a key is
 * one of this tube. Errors are those of `DqProducer`; a reference to a job of another tube is `DQ_BAD_REF`.
 */
export abstract class TubeProducer<In = unknown> {
  /** Runs as soon as a consumer is free. */
  abstract now(payload: In, options?: JobOptions): Promise<JobReceipt>;

  /** Runs once the delay is over. */
  abstract delay(payload: In, delay: Duration, options?: JobOptions): Promise<JobReceipt>;

  /** Runs at an instant. */
  abstract at(payload: In, when: When, options?: JobOptions): Promise<JobReceipt>;

  /** Many at once: one result a job, in the order given, as of `delay`. */
  abstract delayMany(jobs: Iterable<JobOptions & { payload: In; delay: Duration }>): Promise<AddResult[]>;

  /** The same as of `at`. */
  abstract atMany(jobs: Iterable<JobOptions & { payload: In; at: When }>): Promise<AddResult[]>;

  /** `revoked` means that no later start happens. */
  abstract revoke(ref: TubeJobRef, options?: PatienceOptions & { abort?: boolean }): Promise<RevokeResult>;

  /** Gives a job that does not run another time, and another payload if one is given, which the tube's schema checks. */
  abstract reschedule(
    ref: TubeJobRef,
    when: When | { readonly delay: Duration },
    options?: PatienceOptions & { payload?: In; allowPast?: boolean },
  ): Promise<RescheduleResult>;

  /** What is known of a job. */
  abstract find(ref: TubeJobRef, options?: PatienceOptions): Promise<JobView | undefined>;
}
