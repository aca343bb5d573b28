import type { AddResult, JobOptions, JobReceipt, JobView, RescheduleResult, RevokeResult } from '../job.js';
import type { Duration, When } from '../time.js';
import type { Tube } from '../tube.js';
import type { DqProducer } from './producer.js';

/**
 * A producer bound to one tube, as `producer.tube(OrderCancel)` makes it: the same calls without the tube, and jobs by
 * their keys. Errors are those of `DqProducer`.
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

  /** `revoked` means that no later start of the key's job happens. */
  abstract revoke(ref: { readonly key: string }, options?: { abort?: boolean }): Promise<RevokeResult>;

  /** Gives the key's job, if it does not run, another time, and another payload if one is given. */
  abstract reschedule(
    ref: { readonly key: string },
    when: When | { readonly delay: Duration },
    options?: { payload?: In; allowPast?: boolean },
  ): Promise<RescheduleResult>;

  /** What is known of the key's job. */
  abstract find(ref: { readonly key: string }): Promise<JobView | undefined>;
}

export class BoundProducer extends TubeProducer {
  constructor(
    private readonly producer: DqProducer,
    private readonly tube: string | Tube,
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

  override revoke({ key }: { readonly key: string }, options?: { abort?: boolean }): Promise<RevokeResult> {
    return this.producer.revoke({ tube: this.tube, key }, options);
  }

  override reschedule(
    { key }: { readonly key: string },
    when: When | { readonly delay: Duration },
    options?: { payload?: unknown; allowPast?: boolean },
  ): Promise<RescheduleResult> {
    return this.producer.reschedule({ tube: this.tube, key }, when, options);
  }

  override find({ key }: { readonly key: string }): Promise<JobView | undefined> {
    return this.producer.find({ tube: this.tube, key });
  }
}
