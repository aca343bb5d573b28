import type {
  AddResult,
  JobReceipt,
  JobRef,
  JobView,
  RescheduleResult,
  RevokeResult,
  TubeJobRef,
} from '../api/job.js';
import type { StoredTube, Tube } from '../api/tube.js';
import { goQueueCopies } from '../copies/formats/go-queue.js';
import { parseRef } from '../copies/job-ref.js';
import { DqError, show } from '../errors.js';
import type { DqProducer } from './producer.js';
import { TubeProducer } from './tube-producer.js';

/** What a call of a TubeProducer is given. */
type Given<Call extends keyof TubeProducer> = Parameters<TubeProducer[Call]>;
/** The same behind the reference. */
type Rest<Call extends keyof TubeProducer> = Given<Call> extends [unknown, ...infer More] ? More : never;

/** Gives each call to the producer of all tubes, with its tube. */
export class BoundProducer extends TubeProducer {
  constructor(
    private readonly producer: DqProducer,
    private readonly tube: string | Tube,
    private readonly storedAs: StoredTube,
  ) {
    super();
  }

  override now(...given: Given<'now'>): Promise<JobReceipt> {
    return this.producer.now(this.tube, ...given);
  }

  override delay(...given: Given<'delay'>): Promise<JobReceipt> {
    return this.producer.delay(this.tube, ...given);
  }

  override at(...given: Given<'at'>): Promise<JobReceipt> {
    return this.producer.at(this.tube, ...given);
  }

  override delayMany(...given: Given<'delayMany'>): Promise<AddResult[]> {
    return this.producer.delayMany(this.tube, ...given);
  }

  override atMany(...given: Given<'atMany'>): Promise<AddResult[]> {
    return this.producer.atMany(this.tube, ...given);
  }

  override async revoke(ref: TubeJobRef, ...given: Rest<'revoke'>): Promise<RevokeResult> {
    return this.producer.revoke(this.within(ref), ...given);
  }

  override async reschedule(ref: TubeJobRef, ...given: Rest<'reschedule'>): Promise<RescheduleResult> {
    return this.producer.reschedule(this.within(ref), ...given);
  }

  override async find(ref: TubeJobRef, ...given: Rest<'find'>): Promise<JobView | undefined> {
    return this.producer.find(this.within(ref), ...given);
  }

  /** The tube beside a text, too: its schema checks another payload. */
  private within(given: TubeJobRef): JobRef {
    const { tube } = this;
    const { ref, key, id }: { ref?: string; key?: string; id?: string } =
      typeof given === 'object' && given !== null ? given : { ref: given };
    if (ref === undefined && key !== undefined) return { tube, key };
    if (ref === undefined && id !== undefined) return { tube, id };
    const found = goQueueCopies(given as JobRef)?.[0] ?? parseRef(given as JobRef, '');
    if (found.tube === this.storedAs) return { tube, ref: ref! };
    throw new DqError(
      'DQ_BAD_REF',
      `the reference is of a job of ${show(found.tube)}: expected one of ${show(this.storedAs)}, whose producer this is`,
    );
  }
}
