import type { JobRef, PatienceOptions, RescheduleResult } from '../api/job.js';
import { checkObject } from '../producer/call-options.js';
import type { DqProducer } from '../producer/producer.js';

/** Steers a cluster, by the rules that every job has. Inject it. */
export abstract class DqControl {
  /**
   * Moves a job that waits, or waits for a retry, to now. Its attempts begin anew, and its id, receipt and `ref` stay valid.
   * It may throw what `DqProducer.reschedule` throws.
   */
  abstract runNow(ref: JobRef, options?: PatienceOptions): Promise<RescheduleResult>;
}

/** What the control of a cluster works with. */
export interface ControlParts {
  readonly producer: DqProducer;
}

/** The control of one cluster. */
export class ClusterControl extends DqControl {
  constructor(private readonly parts: ControlParts) {
    super();
  }

  override async runNow(ref: JobRef, options?: PatienceOptions): Promise<RescheduleResult> {
    const { patience } = checkObject('the options', options, ['patience']);
    return this.parts.producer.reschedule(ref, { delay: 0 }, { ...(patience !== undefined && { patience }) });
  }
}
