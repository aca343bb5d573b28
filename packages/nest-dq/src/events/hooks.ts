import { checkHooks as check } from 'nest-handlers/events';
import type { DqEvents } from './events.js';
import { wrongValue } from '../errors.js';
import type { DelayedJob, HandlerMethod } from '../api/job.js';

/** The job that is about to be scheduled, as far as hooks see it. */
export interface ScheduledTo {
  /** Without the prefix. */
  readonly tube: string;
  /** Absent for a plain job. */
  readonly key?: string;
}

/**
 * Carries what surrounds a call (a trace, a tenant, a logger's context) from where a job is scheduled to where it runs.
 * Given as the module's option `hooks`. `nest-dq/opentelemetry` uses nothing but this.
 */
export interface DqHooks {
  /**
   * Called at each add, in the caller's context, before anything is stored. The headers that it writes travel with the
   * job, beside those of the add. If it throws, the add fails. A reschedule, a retry and `Again` keep all these headers.
   */
  onSchedule?(headers: Record<string, string>, job: ScheduledTo): void;
  /**
   * Called around each run of a handler, with its guards, pipes and filters. It calls `next` once, in any context, and
   * returns what that returned. If it throws or returns something else, that counts as the handler's.
   */
  aroundHandler?(job: DelayedJob, next: () => unknown): unknown;
  /**
   * Called once, before anything of the cluster starts. The function that it returns is called when the module is closed.
   * If it throws, the start of the application fails.
   */
  onStart?(cluster: DqClusterView): (() => void) | void;
}

/** A cluster as a hook sees it. */
export interface DqClusterView {
  /** Undefined: the one without a name. */
  readonly name: string | undefined;
  /** Those of this process. */
  readonly events: DqEvents;
  /** What this process knows now, without asking anybody. */
  readonly load: () => DqLoad;
  /**
   * About how many jobs each tube of the whole cluster has, at most about 15 s ago. One process of all tells it, so that the
   * servers are asked once: in the others, and until the first look, it is undefined. The looking begins with the first call.
   */
  readonly allTubes: () => readonly DqTubeCounts[] | undefined;
}

/** A tube of the whole cluster. What is unknown is absent. `DqInspector.tubes` tells more. */
export interface DqTubeCounts {
  /** Without the prefix. */
  readonly tube: string;
  /** About how many jobs wait for their time, or for a retry. */
  readonly waiting?: number;
  /** About how many jobs are due and were not taken yet. */
  readonly due?: number;
  /** About how many jobs run, or were taken and are about to run. */
  readonly running?: number;
  /** How many dead letters there are. Absent: the ledger did not tell. */
  readonly dead?: number;
  /** Absent: the tube is not paused, or, if `dead` is absent too, nobody knows. */
  readonly paused?: { readonly since: Date; readonly until?: Date };
  /** How many jobs that wait are in the index. */
  readonly listed?: number;
  /** How many of the listed jobs have failed and wait for a retry. */
  readonly retrying?: number;
  /** Milliseconds since the oldest of the listed jobs was due; 0 if none is due. */
  readonly overdueFor?: number;
  /** How many connections of all processes take jobs of this tube. 0: nobody consumes it, or it is paused. */
  readonly watching?: number;
}

/** What this process has at hand. */
export interface DqLoad {
  /** By endpoint. */
  readonly nodes: Readonly<Record<string, DqNodeLoad>>;
  /** How many nodes an add needs: the option `minWritten`. */
  readonly nodesNeeded: number;
  /** Whether the ledger answers: false from its first silence on until it answers again. */
  readonly ledgerUp: boolean;
  /** Whether this process does what one process does for all. */
  readonly elected: boolean;
  /** Of each tube that has a handler here. */
  readonly tubes: readonly {
    /** Without the prefix. */
    readonly tube: string;
    /** Handlers that have not returned. */
    readonly running: number;
    /** Copies in hand that are early, or due without a slot. */
    readonly held: number;
  }[];
  /** Jobs whose copies this process deleted a moment ago, so that the ledger still has to remember them. */
  readonly owed: number;
  /** About how many jobs the repair that goes on here has still to look at. 0: none goes on here. */
  readonly toRepair: number;
}

/** A node as this process sees it. */
export interface DqNodeLoad {
  /** It answers. */
  readonly up: boolean;
  /** It also stores jobs, and lets this process reserve them. */
  readonly well: boolean;
}

type OnSchedule = NonNullable<DqHooks['onSchedule']>;
type Around = (handler: HandlerMethod) => HandlerMethod;

/** Calls all `onSchedule`; undefined if there are none. */
export function scheduleHook(hooks: readonly DqHooks[]): OnSchedule | undefined {
  const asked = hooks.filter((hook) => hook.onSchedule !== undefined);
  if (asked.length === 0) return undefined;
  return (headers, job) => {
    for (const hook of asked) hook.onSchedule!(headers, job);
  };
}

/** Puts all hooks of handlers around one, the first outermost; undefined if there are none. */
export function handlerHook(hooks: readonly DqHooks[]): Around | undefined {
  const around = hooks.filter((hook) => hook.aroundHandler !== undefined);
  if (around.length === 0) return undefined;
  return (handler) =>
    around.reduceRight<HandlerMethod>(
      (inner, hook) => (payload, job) => hook.aroundHandler!(job, () => inner(payload, job)),
      handler,
    );
}

/** `DQ_CONFIG`: these are no hooks, or a name is misspelt. */
export function checkHooks(hooks: unknown): readonly DqHooks[] {
  return check<DqHooks>(hooks, ['onSchedule', 'aroundHandler', 'onStart'], (what, value, expected) =>
    wrongValue('DQ_CONFIG', what, value, expected),
  );
}
