import { EventHub as Hub } from 'nest-handlers/events';
import type { Observable } from 'rxjs';
import { DqError, show, toError, unknownName, wrongValue } from '../errors.js';
import type { DelayedJob, JobReceipt } from '../api/job.js';
import {
  CLUSTER_EVENT_NAMES,
  type DqClusterEventMap,
  type DqClusterEventName,
  type DqEventMap,
  type DqEventName,
  type DqEvents,
} from './events.js';
import { Tally } from './tally.js';

interface EventHubOptions {
  /** A run that starts later than this, in ms, emits `late`. */
  readonly lateAfter: number;
  /** `who` names the failed listener and event, for people. */
  readonly listenerFailed: (who: string, error: Error) => void;
  /** Whether events of other processes can be heard. @default false */
  readonly clusterEvents?: boolean;
}

/** Events of all processes, by the names that they have in the hub. */
type ClusterScope = { readonly [N in DqClusterEventName as `cluster:${N}`]: DqClusterEventMap[N] };
type HubEvents = DqEventMap & ClusterScope;

/** Returns an event's name in the hub. `DQ_BAD_OPTION`. */
export function scopedName(name: DqEventName, scope: unknown): keyof HubEvents {
  if (scope === undefined || scope === 'process') return name;
  if (scope !== 'cluster') throw wrongValue('DQ_BAD_OPTION', '`scope`', scope, "'process' or 'cluster'");
  const known = CLUSTER_EVENT_NAMES.find((each) => each === name);
  if (known) return `cluster:${known}`;
  throw unknownName('DQ_BAD_OPTION', `event ${show(name)} with \`scope: 'cluster'\``, CLUSTER_EVENT_NAMES);
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
export class EventHub extends Hub<HubEvents> implements DqEvents {
  /** Counts jobs, including those whose events nobody listens to. */
  readonly tally = new Tally();
  private isClusterWanted = false;
  private clusterWanted: () => void = () => undefined;

  constructor(private readonly options: EventHubOptions) {
    super({
      names: [...NAMES, ...CLUSTER_EVENT_NAMES.map((name) => `cluster:${name}` as const)],
      listenerFailed: (who, thrown) => options.listenerFailed(who, toError(thrown)),
      unknownName: (name) => unknownName('DQ_BAD_OPTION', `event ${show(name)}`, NAMES),
    });
  }

  override on<N extends keyof HubEvents>(name: N, options?: { scope?: 'process' }): Observable<HubEvents[N]>;
  override on<N extends DqClusterEventName>(
    name: N,
    options: { scope: 'cluster' },
  ): Observable<DqClusterEventMap[N]>;
  override on(name: DqEventName, options?: { scope?: string }): Observable<unknown> {
    const scoped = scopedName(name, options?.scope);
    this.want(scoped);
    return super.on(scoped);
  }

  override listen<N extends keyof HubEvents>(
    name: N,
    listener: (event: HubEvents[N]) => unknown,
    who: string,
  ): void {
    this.want(name);
    super.listen(name, listener, who);
  }

  /** Calls back once somebody wants to hear events of other processes. */
  whenClusterIsHeard(callback: () => void): void {
    if (this.isClusterWanted) callback();
    else this.clusterWanted = callback;
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

  private want(name: keyof HubEvents): void {
    if (!name.startsWith('cluster:') || this.isClusterWanted) return;
    if (!this.options.clusterEvents) {
      const fact =
        "`scope: 'cluster'` needs the option `clusterEvents: true`, in this process and in those that run the jobs";
      throw new DqError('DQ_BAD_OPTION', fact);
    }
    this.isClusterWanted = true;
    this.clusterWanted();
  }
}
