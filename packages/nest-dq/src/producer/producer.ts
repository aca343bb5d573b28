import type { Duration, When } from 'nest-handlers/time';
import type {
  AddResult,
  JobOptions,
  JobReceipt,
  JobRef,
  JobView,
  PatienceOptions,
  RescheduleResult,
  RevokeOptions,
  RevokeResult,
} from '../api/job.js';
import type { Tube } from '../api/tube.js';
import type { TubeProducer } from './tube-producer.js';

/**
 * Schedules, moves and revokes jobs. Inject it.
 *
 * Every add may throw `DQ_TOO_FEW_COPIES` (see `indeterminate`), `DQ_BAD_PAYLOAD`, `DQ_BAD_TUBE`, `DQ_BAD_OPTION` and
 * `DQ_CLOSED`. An add without a key needs no Redis. An add with a key may also throw `DQ_LEDGER_DOWN` (see
 * `indeterminate`), `DQ_DUPLICATE` and `DQ_CONFLICT`.
 *
 * When servers are away, a call that certainly had no effect is tried again until its `patience` is over.
 * `DQ_OVERLOADED`: too many calls wait for their next try.
 */
export abstract class DqProducer {
  /** The job runs as soon as a consumer is free. */
  abstract now<In = unknown>(
    tube: string | Tube<In>,
    payload: NoInfer<In>,
    options?: JobOptions,
  ): Promise<JobReceipt>;

  /**
   * The job runs when the delay is over. `DQ_BAD_DURATION`: the delay has no unit, is negative, or is 1e12 ms or more. So
   * large a number is a point in time: give it to `at`.
   */
  abstract delay<In = unknown>(
    tube: string | Tube<In>,
    payload: NoInfer<In>,
    delay: Duration,
    options?: JobOptions,
  ): Promise<JobReceipt>;

  /**
   * The job runs at an instant. `DQ_PAST_TIME`: it is more than a second ago, and `allowPast` is not set. `DQ_TOO_FAR`: it
   * is more than 2^32−1 s ahead. `DQ_BAD_TIME`: it is no instant, or it looks like seconds.
   */
  abstract at<In = unknown>(
    tube: string | Tube<In>,
    payload: NoInfer<In>,
    when: When,
    options?: JobOptions,
  ): Promise<JobReceipt>;

  /**
   * Adds many jobs, each as `delay` does. Returns one result for each job, in the order of `jobs`. The promise does not
   * reject when some of them fail. It rejects, before anything is stored, when the tube is wrong or `jobs` is no iterable of
   * objects. `jobs` may be of any length: the library sends as many at a time as keep the nodes busy.
   */
  abstract delayMany<In = unknown>(
    tube: string | Tube<In>,
    jobs: Iterable<JobOptions & { payload: NoInfer<In>; delay: Duration }>,
  ): Promise<AddResult[]>;

  /** Like `delayMany`, but adds each job as `at` does. */
  abstract atMany<In = unknown>(
    tube: string | Tube<In>,
    jobs: Iterable<JobOptions & { payload: NoInfer<In>; at: When }>,
  ): Promise<AddResult[]>;

  /**
   * Stops a job. `revoked`: it will not start any more. `running`: the present run goes on, and nothing follows it, no
   * retry and no `Again`. It answers when Redis has stored that; the copies are deleted behind the answer, unless `confirmed` is set.
   * `DQ_LEDGER_DOWN`: Redis did not answer, so the job may be revoked or not. It is safe to call again. `DQ_UNCONFIRMED`: see
   * `confirmed`. Also `DQ_BAD_REF`, `DQ_BAD_TUBE`, `DQ_BAD_OPTION` and `DQ_CLOSED`.
   */
  abstract revoke(ref: JobRef, options?: RevokeOptions): Promise<RevokeResult>;

  /**
   * Gives a job that does not run a new time, and a new payload if you pass one. A job that waits for a retry is moved too,
   * and its attempts begin anew. The job's id, receipt and `ref` stay valid. It may throw what an add with a key throws, and
   * `DQ_NO_COPY` when every node that has a copy is away.
   */
  abstract reschedule<In = unknown>(
    ref: JobRef<In>,
    when: When | { readonly delay: Duration },
    options?: PatienceOptions & { payload?: NoInfer<In>; allowPast?: boolean },
  ): Promise<RescheduleResult>;

  /**
   * Tells what is known of a job. It asks Redis. If Redis does not know the job, it asks the nodes that the reference names.
   * Undefined: no job has that key, or the job ended so long ago that it is not remembered. `DQ_LEDGER_DOWN`, `DQ_BAD_REF`,
   * `DQ_CLOSED`.
   */
  abstract find(ref: JobRef, options?: PatienceOptions): Promise<JobView | undefined>;

  /** Returns a producer that has all of these calls for one tube. `DQ_BAD_TUBE`. */
  abstract tube<In = unknown>(tube: string | Tube<In>): TubeProducer<In>;
}
