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
import type { StoredTube, Tube } from '../api/tube.js';
import { parseRef } from '../copies/job-ref.js';
import { DqError, show } from '../errors.js';
import type { Duration } from '../time/duration.js';
import type { When } from '../time/instant.js';
import type { DqProducer } from './producer.js';
import { TubeProducer } from './tube-producer.js';

/** Gives each call to the producer of all tubes, with its tube. */
export class BoundProducer extends TubeProducer {
  constructor(
    private readonly producer: DqProducer,
    private readonly tube: string | Tube,
    private readonly storedAs: StoredTube,
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
