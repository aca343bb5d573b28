import { EventHub as Hub } from 'nest-handlers/events';
import { show, toError, unknownName } from '../errors.js';
import type { DelayedJob, JobReceipt } from '../api/job.js';
import type { DqEventMap, DqEventName, DqEvents } from './events.js';
import { Tally } from './tally.js';

interface EventHubOptions {
  /** A run that starts later than this, in ms, emits `late`. */
  readonly lateAfter: number;
  /** `who` names the failed listener and event, for people. */
  readonly listenerFailed: (who: string, error: Error) => void;
}

const NAMES = Object.keys({
  scheduled: true,
  started: true,
  completed: true,
  failed: true,
  dead: true,
  expired: true,
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

/** Dispatches events to listeners. Most events have none, so check `heard` before building one for a job. */
export class EventHub extends Hub<DqEventMap> implements DqEvents {
  /** Counts jobs, including those whose events nobody listens to. */
  readonly tally = new Tally();

  constructor(private readonly options: EventHubOptions) {
    super({
      names: NAMES,
      listenerFailed: (who, thrown) => options.listenerFailed(who, toError(thrown)),
      unknownName: (name, known) => unknownName('DQ_BAD_OPTION', `event ${show(name)}`, known),
    });
  }

  /** An add stored or replaced a job. */
  scheduled(receipt: JobReceipt): void {
    this.tally.count(receipt.tube, 'scheduled');
    if (this.heard('scheduled')) this.emit('scheduled', { receipt });
  }

  /** A run starts. */
  started(job: DelayedJob): void {
    this.tally.started(job.tube, job.lateness);
    if (this.heard('started')) this.emit('started', { job });
    if (job.lateness > this.options.lateAfter && this.heard('late')) this.emit('late', { job });
  }
}
