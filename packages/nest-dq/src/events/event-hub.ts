import { Subject, type Observable } from 'rxjs';
import { show, unknownName } from '../errors.js';
import type { DelayedJob, JobReceipt } from '../api/job.js';
import { DqEvents, type DqEventMap, type DqEventName } from './events.js';
import { GuardedObservable } from './guarded-observable.js';
import { Tally } from './tally.js';

export interface EventHubOptions {
  /** Milliseconds. A run that starts later than this is a `late` event. */
  readonly lateAfter: number;
  /** `who` is for people: which listener failed, and at which event. */
  readonly listenerFailed: (who: string, error: Error) => void;
}

/** Brings events to their listeners. Most have none, so ask `heard` before you make an event of a job. */
export class EventHub extends DqEvents {
  /** Counts jobs, also those whose events nobody hears. */
  readonly tally = new Tally();
  private readonly subjects: { readonly [N in DqEventName]: Subject<DqEventMap[N]> } = {
    scheduled: new Subject(),
    started: new Subject(),
    completed: new Subject(),
    failed: new Subject(),
    dead: new Subject(),
    revoked: new Subject(),
    late: new Subject(),
    nodeDown: new Subject(),
    nodeUp: new Subject(),
    nodeTrouble: new Subject(),
    lettersRemoved: new Subject(),
    lost: new Subject(),
    operated: new Subject(),
  };

  constructor(private readonly options: EventHubOptions) {
    super();
  }

  override on<N extends DqEventName>(name: N): Observable<DqEventMap[N]> {
    return this.guarded(name, `a subscriber of \`${name}\``);
  }

  /** Adds a listener that has a name. `DQ_BAD_OPTION`: there is no such event. */
  listen<N extends DqEventName>(name: N, listener: (event: DqEventMap[N]) => unknown, who: string): void {
    this.guarded(name, `${who} at \`${name}\``).subscribe(listener);
  }

  /** Whether anybody listens. */
  heard(name: DqEventName): boolean {
    return this.subjects[name].observed;
  }

  tell<N extends DqEventName>(name: N, event: DqEventMap[N]): void {
    this.subjects[name].next(event);
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

  /** Tells nothing any more, and completes all observables. Idempotent. */
  close(): void {
    for (const subject of Object.values(this.subjects)) subject.complete();
  }

  private guarded<N extends DqEventName>(name: N, who: string): Observable<DqEventMap[N]> {
    if (!Object.hasOwn(this.subjects, name)) {
      throw unknownName('DQ_BAD_OPTION', `event ${show(name)}`, Object.keys(this.subjects));
    }
    const subject = this.subjects[name];
    const failed = (error: Error) => this.options.listenerFailed(who, error);
    return new GuardedObservable((subscriber) => subject.subscribe(subscriber), failed);
  }
}
