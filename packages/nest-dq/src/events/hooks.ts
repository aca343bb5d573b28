import { checkHooks as check } from 'nest-handlers/events';
import type { DqEvents } from './events.js';
import { wrongValue } from '../errors.js';
import type { DelayedJob, HandlerMethod } from '../api/job.js';

/** The job about to be scheduled, as seen by hooks. */
export interface ScheduledTo {
  /** Tube name without the prefix. */
  readonly tube: string;
  /** Absent for a plain job. */
  readonly key?: string;
}

/**
 * Hooks that carry the context of a call (a trace, a tenant, a logger's context) from where a job is scheduled to where it runs.
 * Set with the module option `hooks`. `nest-dq/opentelemetry` uses nothing else.
 */
export interface DqHooks {
  /**
   * Called on each add, in the caller's context, before anything is stored. Headers it adds travel with the job, in addition to
   * those of the add. If it throws, the add fails. A reschedule, a retry and `Again` keep all these headers.
   */
  onSchedule?(headers: Record<string, string>, job: ScheduledTo): void;
  /**
   * Called around each run of a handler, including its guards, pipes and filters. Must call `next` once, in any context, and
   * return its result. Throwing or returning something else counts as if the handler had done it.
   */
  aroundHandler?(job: DelayedJob, next: () => unknown): unknown;
  /**
   * Called once, before anything in the cluster starts. May return a function to call when the module is closed. If it throws,
   * the application fails to start.
   */
  onStart?(cluster: DqClusterView): (() => void) | void;
}

/** A cluster, as seen by a hook. */
export interface DqClusterView {
  /** Undefined for the unnamed cluster. */
  readonly name: string | undefined;
  /** Events of this process. */
  readonly events: DqEvents;
  /** Returns what this process knows now, without asking anybody. */
  readonly load: () => DqLoad;
  /**
   * Returns approximate job counts of each tube in the whole cluster, at most about 15 s old. Only the elected process has them,
   * so that servers are queried once; undefined in the others, and until the first query. Querying starts with the first call.
   */
  readonly allTubes: () => readonly DqTubeCounts[] | undefined;
  /**
   * Returns the `@Recurring` series of all processes, and those made at run time that are overdue, as `allTubes` does. While the
   * ledger is away, they are as they were before.
   */
  readonly allSeries: () => readonly DqSeriesState[] | undefined;
  /** Returns the memory of each Redis, as `allTubes` does; empty for an embedded node. */
  readonly redisMemory: () => readonly DqRedisMemory[] | undefined;
}

/** Whether a series is on time. `DqInspector.series` has more detail. */
export interface DqSeriesState {
  /** Its name, if it was made at run time. */
  readonly name?: string;
  /** Tube name without the prefix. */
  readonly tube: string;
  /** Time since it should have run, in ms; 0 if that is at most a minute. */
  readonly overdueFor: number;
}

/** Memory of one Redis server. */
export interface DqRedisMemory {
  /** `host:port`, or the path of a socket. */
  readonly redis: string;
  /** Used memory, in bytes. */
  readonly used: number;
  /** `maxmemory`, or the memory of its machine if that isn't set, in bytes. */
  readonly limit: number;
}

/** Counts of one tube in the whole cluster. Unknown values are absent. `DqInspector.tubes` has more detail. */
export interface DqTubeCounts {
  /** Tube name without the prefix. */
  readonly tube: string;
  /** Approximate number of jobs waiting for their time, or for a retry. */
  readonly waiting?: number;
  /** Approximate number of jobs due but not yet taken. */
  readonly due?: number;
  /** Approximate number of jobs running, or taken and about to run. */
  readonly running?: number;
  /** Number of dead letters. Absent if the ledger didn't answer. */
  readonly dead?: number;
  /** Pause of the tube. Absent if it isn't paused, or, if `dead` is absent too, unknown. */
  readonly paused?: { readonly since: Date; readonly until?: Date };
  /** Number of waiting jobs in the index. */
  readonly listed?: number;
  /** Number of listed jobs that failed and are waiting for a retry. */
  readonly retrying?: number;
  /** Time since the oldest listed job was due, in ms; 0 if none is due. */
  readonly overdueFor?: number;
  /** Number of connections, across all processes, that take jobs of this tube. 0 if nobody consumes it, or it is paused. */
  readonly watching?: number;
}

/** Load of this process. */
export interface DqLoad {
  /** Nodes by endpoint. */
  readonly nodes: Readonly<Record<string, DqNodeLoad>>;
  /** Number of nodes an add needs: the option `minWritten`. */
  readonly nodesNeeded: number;
  /** Whether the ledger answers: false from its first missed answer until it answers again. */
  readonly ledgerUp: boolean;
  /** Whether this process is the elected one, which acts for all. */
  readonly elected: boolean;
  /** Load of each tube with a handler in this process. */
  readonly tubes: readonly {
    /** Tube name without the prefix. */
    readonly tube: string;
    /** Number of handlers that have not returned. */
    readonly running: number;
    /** Number of copies held because they are early, or due without a free slot. */
    readonly held: number;
  }[];
  /** Number of jobs whose copies this process deleted so recently that the ledger must still remember them. */
  readonly owed: number;
  /** Number of events with `scope: 'cluster'` that this process couldn't pass on, or missed. 0 if `clusterEvents` is off. */
  readonly eventsDropped: number;
  /** Approximate number of jobs left for the repair running in this process. 0 if none is running. */
  readonly toRepair: number;
}

/** A node, as seen by this process. */
export interface DqNodeLoad {
  /** Whether it answers. */
  readonly up: boolean;
  /** Whether it also stores jobs and lets this process reserve them. */
  readonly well: boolean;
}

type OnSchedule = NonNullable<DqHooks['onSchedule']>;
type Around = (handler: HandlerMethod) => HandlerMethod;

/** Combines all `onSchedule` hooks; undefined if there are none. */
export function scheduleHook(hooks: readonly DqHooks[]): OnSchedule | undefined {
  const asked = hooks.filter((hook) => hook.onSchedule !== undefined);
  if (asked.length === 0) return undefined;
  return (headers, job) => {
    for (const hook of asked) hook.onSchedule!(headers, job);
  };
}

/** Combines all handler hooks, the first outermost; undefined if there are none. */
export function handlerHook(hooks: readonly DqHooks[]): Around | undefined {
  const around = hooks.filter((hook) => hook.aroundHandler !== undefined);
  if (around.length === 0) return undefined;
  return (handler) =>
    around.reduceRight<HandlerMethod>(
      (inner, hook) => (payload, job) => hook.aroundHandler!(job, () => inner(payload, job)),
      handler,
    );
}

/** Validates hooks. `DQ_CONFIG` if they aren't hooks, or a name is misspelt. */
export function checkHooks(hooks: unknown): readonly DqHooks[] {
  return check<DqHooks>(hooks, ['onSchedule', 'aroundHandler', 'onStart'], (what, value, expected) =>
    wrongValue('DQ_CONFIG', what, value, expected),
  );
}
