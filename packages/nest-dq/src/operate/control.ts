import type { JobRef, PatienceOptions, RescheduleResult } from '../api/job.js';
import { withoutPrefix } from '../api/tube.js';
import { parseRef } from '../copies/job-ref.js';
import { checkObject } from '../producer/call-options.js';
import type { ProducerParts } from '../producer/producer-context.js';
import type { DqProducer } from '../producer/producer.js';
import { Act, type ActOptions } from './act.js';

/** Steers a cluster, by the rules that every job has. Each act is told as the event `operated`. Inject it. */
export abstract class DqControl {
  /**
   * Moves a job that waits, or waits for a retry, to now. Its attempts begin anew, and its id, receipt and `ref` stay valid.
   * A job that runs, is over or is dead stays as it is, and that is the result. It may throw what `DqProducer.reschedule`
   * throws.
   */
  abstract runNow(ref: JobRef, options?: PatienceOptions & ActOptions): Promise<RescheduleResult>;
}

/** What the control of a cluster works with. */
export interface ControlParts extends ProducerParts {
  readonly producer: DqProducer;
}

/** The control of one cluster. */
export class ClusterControl extends DqControl {
  constructor(private readonly parts: ControlParts) {
    super();
  }

  override async runNow(ref: JobRef, options?: PatienceOptions & ActOptions): Promise<RescheduleResult> {
    const { by, patience } = checkObject('the options', options, ['by', 'patience']);
    const { producer, events, settings } = this.parts;
    const { tube, id, key } = parseRef(ref, settings.prefix);
    const on = { tube: withoutPrefix(tube, settings.prefix), id, ...(key !== undefined && { key }) };
    const act = new Act(events, 'runNow', on, by);
    const result = await producer.reschedule(
      ref,
      { delay: 0 },
      { ...(patience !== undefined && { patience }) },
    );
    act.ended(result === 'rescheduled' ? 1 : 0);
    return result;
  }
}
