import { EventHub as Hub } from 'nest-handlers/events';
import { show, toError, unknownName } from '../errors.js';
import type { DelayedJob, JobReceipt } from '../api/job.js';
import type { DqEventMap, DqEventName, DqEvents } from './events.js';
import { Tally } from './tally.js';

interface EventHubOptions {
  /** Milliseconds. A run that starts later than this is a `late` event. */
  readonly lateAfter: number;
  /** `who` is for people: which listener failed, and at which event. */
  readonly listenerFailed: (who: string, error: Error) => void;
}

const NAMES = Object.keys({
  scheduled: true,
  started: true,
  completed: true,
  failed: true,
  dead: true,
  revoked: true,
  late: true,
  nodeDown: true,
  nodeUp: true,
  nodeTrouble: true,
  lettersRemoved: true,
  lost: true,
  badSeal: true,
  operated: true,
} satisfies Record<DqEventName, true>) as DqEventName[];

/** Brings events to their listeners. Most have none, so ask `heard` before you make an event of a job. */
export class EventHub extends Hub<DqEventMap> implements DqEvents {
  /** Counts jobs, also those whose events nobody hears. */
  readonly tally = new Tally();

  constructor(private readonly options: EventHubOptions) {
    super({
      names: NAMES,
      listenerFailed: (who, thrown) => options.listenerFailed(who, toError(thrown)),
      unknownName: (name, known) => unknownName('DQ_BAD_OPTION', `event ${show(name)}`, known),
    });
  }

  /** An add stored a job, or replaced one. */
  scheduled(receipt: JobReceipt): void {
    this.tally.count(receipt.tube, 'scheduled');
    if (this.heard('scheduled')) this.tell('scheduled', { receipt });
  }

  /** A run begins. */
  started(job: DelayedJob): void {
    this.tally.started(job.tube, job.lateness);
    if (this.heard('started')) this.tell('started', { job });
    if (job.lateness > this.options.lateAfter && this.heard('late')) this.tell('late', { job });
  }
}
