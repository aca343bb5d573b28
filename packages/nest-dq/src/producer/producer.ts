import type {
  AddResult,
  JobOptions,
  JobReceipt,
  JobRef,
  JobView,
  PatienceOptions,
  RescheduleResult,
  RevokeResult,
} from '../api/job.js';
import type { Duration } from '../time/duration.js';
import type { When } from '../time/instant.js';
import type { Tube } from '../api/tube.js';
import type { TubeProducer } from './tube-producer.js';

/**
 * Schedules, moves and revokes jobs. Inject it.
 * Every add may throw `DQ_TOO_FEW_COPIES` (see `indeterminate`), `DQ_BAD_PAYLOAD`, `DQ_BAD_TUBE`, `DQ_BAD_OPTION` and
 * `DQ_CLOSED`. An add without a key needs no Redis; one with a key may throw `DQ_LEDGER_DOWN` (see `indeterminate`),
 * `DQ_DUPLICATE` and `DQ_CONFLICT`. While servers are away, and nothing came of it for certain, every call is tried again
 * until its `patience` is over; `DQ_OVERLOADED`: too many wait like that.
 */
export abstract class DqProducer {
  /** Runs as soon as a consumer is free. */
  abstract now<In = unknown>(
    tube: string | Tube<In>,
    payload: NoInfer<In>,
    options?: JobOptions,
  ): Promise<JobReceipt>;

  /** Runs once the delay is over. `DQ_BAD_DURATION`: no unit, negative, or 1e12 ms and more, which belongs in `at`. */
  abstract delay<In = unknown>(
    tube: string | Tube<In>,
    payload: NoInfer<In>,
    delay: Duration,
    options?: JobOptions,
  ): Promise<JobReceipt>;

  /**
   * Runs at an instant. More than a second ago is `DQ_PAST_TIME`, unless `allowPast`; over 2^32−1 s ahead is
   * `DQ_TOO_FAR`; what is no instant, or looks like seconds, is `DQ_BAD_TIME`.
   */
  abstract at<In = unknown>(
    tube: string | Tube<In>,
    payload: NoInfer<In>,
    when: When,
    options?: JobOptions,
  ): Promise<JobReceipt>;

  /**
   * Many at once: one result a job, in the order given, as of `delay`. Rejects for none of them, but for all, before
   * anything is stored, where the tube is wrong or `jobs` is no iterable of objects. Any length: so many are on their
   * way at a time as keep the nodes busy.
   */
  abstract delayMany<In = unknown>(
    tube: string | Tube<In>,
    jobs: Iterable<JobOptions & { payload: NoInfer<In>; delay: Duration }>,
  ): Promise<AddResult[]>;

  /** The same as of `at`. */
  abstract atMany<In = unknown>(
    tube: string | Tube<In>,
    jobs: Iterable<JobOptions & { payload: NoInfer<In>; at: When }>,
  ): Promise<AddResult[]>;

  /**
   * `revoked` means that no later start happens. `running`: that run goes on, and nothing follows it, no retry and no
   * `Again`; with `abort` the handler's signal is raised, wherever it runs, within 5 s. `DQ_LEDGER_DOWN`: Redis did not
   * answer, so it may or may not have taken effect; asking again is safe. `DQ_BAD_REF`, `DQ_BAD_TUBE`, `DQ_BAD_OPTION`,
   * `DQ_CLOSED`.
   */
  abstract revoke(ref: JobRef, options?: PatienceOptions & { abort?: boolean }): Promise<RevokeResult>;

  /**
   * Gives a job that does not run another time, and another payload if one is given. One that waits for a retry is moved
   * too, and its attempts begin anew; its id, receipt and `ref` stay valid. Errors are those of a keyed add, and
   * `DQ_NO_COPY` when every node that has a copy is away.
   */
  abstract reschedule<In = unknown>(
    ref: JobRef<In>,
    when: When | { readonly delay: Duration },
    options?: PatienceOptions & { payload?: NoInfer<In>; allowPast?: boolean },
  ): Promise<RescheduleResult>;

  /**
   * What is known of a job: asks Redis, and where that has nothing, the nodes that the reference names. Undefined: no job
   * of that key, or its end is longer ago than is remembered. `DQ_LEDGER_DOWN`, `DQ_BAD_REF`, `DQ_CLOSED`.
   */
  abstract find(ref: JobRef, options?: PatienceOptions): Promise<JobView | undefined>;

  /** All of these calls, bound to one tube. `DQ_BAD_TUBE`. */
  abstract tube<In = unknown>(tube: string | Tube<In>): TubeProducer<In>;
}
