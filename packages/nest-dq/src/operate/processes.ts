import type { TubeLimits } from '../ledger/limits.js';
import type { Presence, PresentProcess } from '../fleet/presence.js';

/** A process that uses this cluster, as it told some seconds ago. */
export interface ProcessView {
  /** Differs from that of any other process. It has nothing to do with the jobs. */
  readonly id: string;
  /** The name of the machine. */
  readonly host: string;
  /** On that machine. */
  readonly pid: number;
  /** Of nest-dq. */
  readonly version: string;
  /** Of Node.js. */
  readonly nodeVersion: string;
  /** The name of the cluster in the application; absent for the one without a name. */
  readonly cluster?: string;
  /** When it started. */
  readonly since: Date;
  /** When it told this: at most 15 s ago, or it is not shown. */
  readonly toldAt: Date;
  /** Whether it does what one process does for all. */
  readonly elected: boolean;
  /** False: it only produces. */
  readonly consumes: boolean;
  /** By endpoint: whether the node stores jobs and lets the process reserve them. */
  readonly nodes: Readonly<Record<string, boolean>>;
  /** Those that other processes should share. Durations in milliseconds. */
  readonly settings: {
    readonly prefix: string;
    readonly replicas: number;
    readonly minWritten: number;
    readonly lease: number;
    readonly doneTtl: number;
    readonly staleAfter: number;
  };
  /** Jobs that it found to be lost, since its start: see the event `lost`. Each process counts for itself. Absent: none. */
  readonly lost?: number;
  /** Jobs that it added and could not list, since its start, as there were too many: see the option `index`. Absent: none. */
  readonly unlisted?: number;
  /** About how many jobs the repair that it does by itself has still to look at. Absent: there is none under way. */
  readonly toRepair?: number;
  /** The tubes that it consumes: at most 1,000. */
  readonly tubes: readonly ProcessTubeView[];
}

/** A tube that a process consumes. */
export interface ProcessTubeView {
  /** Without the prefix. */
  readonly tube: string;
  /** How many runs it has at the same time, at most. */
  readonly concurrency: number;
  /** Of its handler, for all processes together. Absent: it has none. */
  readonly limits?: TubeLimits;
  /** Handlers that have not returned. */
  readonly running: number;
  /** Copies in hand that are early, or due without a slot. */
  readonly held: number;
  /** Runs that take longer than a second: at most 100, and 1,000 of all tubes. */
  readonly longRuns: readonly { readonly id: string; readonly attempt: number; readonly since: Date }[];
}

/** All processes that are there, the first to start first. `DQ_LEDGER_DOWN`. */
export async function processesOf(presence: Presence): Promise<ProcessView[]> {
  const views = (await presence.all()).map(viewOf);
  return views.sort((a, b) => a.since.getTime() - b.since.getTime());
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
      longRuns: long.map(({ id, attempt, runFor }) => ({ id, attempt, since: new Date(at - runFor) })),
    })),
  };
}
