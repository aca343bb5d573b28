import { DqError, show } from '../errors.js';
import { parseRef } from '../copies/job-ref.js';
import type {
  AddResult,
  JobOptions,
  JobReceipt,
  JobRef,
  JobView,
  PatienceOptions,
  RescheduleResult,
  RevokeResult,
  TubeJobRef,
} from '../api/job.js';
import type { Duration } from '../time/duration.js';
import type { When } from '../time/instant.js';
import type { Tube } from '../api/tube.js';
import type { DqProducer } from './producer.js';

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

export class BoundProducer extends TubeProducer {
  constructor(
    private readonly producer: DqProducer,
    private readonly tube: string | Tube,
    /** With the prefix. */
    private readonly storedAs: string,
  ) {
    super();
  }

  override now(payload: unknown, options?: JobOptions): Promise<JobReceipt> {
    return this.producer.now(this.tube, payload, options);
  }

  override delay(payload: unknown, delay: Duration, options?: JobOptions): Promise<JobReceipt> {
    return this.producer.delay(this.tube, payload, delay, options);
  }

  override at(payload: unknown, when: When, options?: JobOptions): Promise<JobReceipt> {
    return this.producer.at(this.tube, payload, when, options);
  }

  override delayMany(
    jobs: Iterable<JobOptions & { payload: unknown; delay: Duration }>,
  ): Promise<AddResult[]> {
    return this.producer.delayMany(this.tube, jobs);
  }

  override atMany(jobs: Iterable<JobOptions & { payload: unknown; at: When }>): Promise<AddResult[]> {
    return this.producer.atMany(this.tube, jobs);
  }

  override async revoke(
    ref: TubeJobRef,
    options?: PatienceOptions & { abort?: boolean },
  ): Promise<RevokeResult> {
    return this.producer.revoke(this.within(ref), options);
  }

  override async reschedule(
    ref: TubeJobRef,
    when: When | { readonly delay: Duration },
    options?: PatienceOptions & { payload?: unknown; allowPast?: boolean },
  ): Promise<RescheduleResult> {
    return this.producer.reschedule(this.within(ref), when, options);
  }

  override async find(ref: TubeJobRef, options?: PatienceOptions): Promise<JobView | undefined> {
    return this.producer.find(this.within(ref), options);
  }

  /** The tube beside a text, too: its schema checks another payload. */
  private within(given: TubeJobRef): JobRef {
    const { tube } = this;
    const { ref, key }: { ref?: string; key?: string } =
      typeof given === 'object' && given !== null ? given : { ref: given };
    if (ref === undefined && key !== undefined) return { tube, key };
    const found = parseRef(given as JobRef, '');
    if (found.tube === this.storedAs) return { tube, ref: ref! };
    throw new DqError(
      'DQ_BAD_REF',
      `the reference is of a job of ${show(found.tube)}: expected one of ${show(this.storedAs)}, whose producer this is`,
    );
  }
}
