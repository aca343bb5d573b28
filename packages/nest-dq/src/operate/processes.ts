import type { TubeLimits } from '../api/limit-options.js';
import type { Presence, PresentProcess } from '../fleet/presence.js';
import type { BackoffView } from './explanation.js';

/** A process that uses this cluster, as announced some seconds ago. */
export interface ProcessView {
  /** Unique id of the process, unrelated to job ids. */
  readonly id: string;
  /** Name of the machine. */
  readonly host: string;
  /** Process id on that machine. */
  readonly pid: number;
  /** Version of nest-dq. */
  readonly version: string;
  /** Version of Node.js. */
  readonly nodeVersion: string;
  /** The name of the cluster in the application; absent for the unnamed one. */
  readonly cluster?: string;
  /** Start time. */
  readonly since: Date;
  /** Time of the announcement: at most 15 s ago, or the process is gone. */
  readonly toldAt: Date;
  /** Whether it is the leader, which does the work that one process does for all. */
  readonly elected: boolean;
  /** False if it only produces. */
  readonly consumes: boolean;
  /** Whether each node, by endpoint, stores jobs and lets the process reserve them. */
  readonly nodes: Readonly<Record<string, boolean>>;
  /** The settings that all processes should share. Durations in ms. */
  readonly settings: {
    readonly prefix: string;
    readonly replicas: number;
    readonly minWritten: number;
    readonly lease: number;
    readonly doneTtl: number;
    readonly staleAfter: number;
  };
  /** Lost jobs found since its start: see the event `lost`. Each process counts separately. Absent if none. */
  readonly lost?: number;
  /** Jobs added since its start that couldn't be listed, because there were too many: see the option `index`. Absent if none. */
  readonly unlisted?: number;
  /** Approximate number of jobs its automatic repair still has to look at. Absent if no repair is running. */
  readonly toRepair?: number;
  /** The consumed tubes, at most 1,000. */
  readonly tubes: readonly ProcessTubeView[];
}

/** A tube consumed by a process. */
export interface ProcessTubeView {
  /** Name without the prefix. */
  readonly tube: string;
  /** Maximum concurrent runs. */
  readonly concurrency: number;
  /** Maximum number of runs of a job without an option of its own. Absent from processes that don't announce it. */
  readonly attempts?: number;
  /** Delays after failed runs of such a job, in ms. Absent if its handler's `backoff` is a function. */
  readonly backoff?: BackoffView;
  /** Limits of its handler, over all processes. Absent if it has none. */
  readonly limits?: TubeLimits;
  /** The cron expression with its time zone, or the name of the calendar. Absent if it's no series. */
  readonly plan?: string;
  /** Number of handlers that haven't returned. */
  readonly running: number;
  /** Number of held copies that are early, or due without a slot. */
  readonly held: number;
  /** Runs that have taken longer than a second: at most 100, and 1,000 over all tubes. */
  readonly longRuns: readonly LongRunView[];
}

/** A run that has taken longer than a second. */
export interface LongRunView {
  /** Id of its job. */
  readonly id: string;
  /** Absent if the job has none, or the cluster encrypts it. */
  readonly key?: string;
  /** Number of the run, from 1. */
  readonly attempt: number;
  /** When its handler was called. */
  readonly since: Date;
}

/** Resolves with all current processes by start time. Rejects with `DQ_LEDGER_DOWN`. */
export async function processesOf(presence: Presence): Promise<ProcessView[]> {
  const views = (await presence.all()).map(viewOf);
  return views.sort((a, b) => a.since.getTime() - b.since.getTime());
}

/**
 * Resolves with the processes that fell silent without a goodbye within the last day: killed, frozen, or cut off. At most 20, the
 * last one first. Rejects with `DQ_LEDGER_DOWN`.
 */
export async function goneProcesses(presence: Presence): Promise<ProcessView[]> {
  return (await presence.gone()).map(viewOf);
}

function viewOf({ record, at, elected }: PresentProcess): ProcessView {
  const { upFor, tubes, ...told } = record;
  return {
    ...told,
    since: new Date(at - upFor),
    toldAt: new Date(at),
    elected,
    tubes: tubes.map(({ long, ...load }) => ({
      ...load,
      longRuns: long.map(({ runFor, ...run }) => ({ ...run, since: new Date(at - runFor) })),
    })),
  };
}
