import type { TubeLimits } from '../api/limit-options.js';
import type { JobView } from '../api/job.js';
import { storedTube } from '../api/tube.js';
import type { LongRun, Presence, PresentProcess } from '../fleet/presence.js';
import type { Ledger } from '../ledger/ledger.js';
import { progressView } from '../producer/job-finder.js';
import { withinLimit } from '../time/call-limit.js';
import type { Clock } from 'nest-handlers/time';
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
  /** Since when each node, by endpoint, doesn't. Absent if all do. */
  readonly awaySince?: Readonly<Record<string, Date>>;
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
  /** Last progress its handler reported, as in `JobView`: of at most 1,000 runs. */
  readonly progress?: NonNullable<JobView['progress']>;
}

interface ProcessSources {
  readonly presence: Presence;
  readonly ledger: Pick<Ledger, 'tube'>;
  readonly clock: Clock;
  readonly settings: { readonly prefix: string };
}

/** Resolves with all current processes by start time. Rejects with `DQ_LEDGER_DOWN`. */
export async function processesOf(sources: ProcessSources): Promise<ProcessView[]> {
  const present = await sources.presence.all();
  const progress = await progressOfRuns(sources, present);
  const views = present.map((each) => viewOf(each, progress));
  return views.sort((a, b) => a.since.getTime() - b.since.getTime());
}

/**
 * Resolves with the processes that fell silent without a goodbye within the last day: killed, frozen, or cut off. At most 20, the
 * last one first. Rejects with `DQ_LEDGER_DOWN`.
 */
export async function goneProcesses(presence: Presence): Promise<ProcessView[]> {
  return (await presence.gone()).map((each) => viewOf(each));
}

/** Runs whose progress is read. */
const MAX_READ = 1_000;
/** Time limit for an answer of the ledger. */
const LIMIT_MS = 1_000;

/** The progress of runs, by `nameOf`. */
type ProgressOfRuns = ReadonlyMap<string, Pick<LongRunView, 'progress'>>;
const NO_PROGRESS: ProgressOfRuns = new Map();

function nameOf(tube: string, { id, attempt }: Pick<LongRun, 'id' | 'attempt'>): string {
  return JSON.stringify([tube, id, attempt]);
}

/** Reads the progress of the runs that have some. Never rejects. */
async function progressOfRuns(
  sources: ProcessSources,
  present: readonly PresentProcess[],
): Promise<ProgressOfRuns> {
  const runs = present.flatMap(({ record }) =>
    record.tubes.flatMap(({ tube, long }) =>
      long.filter(({ hasProgress }) => hasProgress).map(({ id }) => ({ tube, id })),
    ),
  );
  const byTube = new Map<string, string[]>();
  for (const { tube, id } of runs.slice(0, MAX_READ)) byTube.set(tube, [...(byTube.get(tube) ?? []), id]);
  const read = Array.from(
    byTube,
    ([tube, ids]) => progressOfTube(sources, tube, ids).catch(() => []), // no more than an addition
  );
  return new Map((await Promise.all(read)).flat());
}

async function progressOfTube(
  { ledger, clock, settings }: ProcessSources,
  tube: string,
  ids: readonly string[],
): Promise<[name: string, Pick<LongRunView, 'progress'>][]> {
  const asked = ledger.tube(storedTube(tube, settings.prefix)).find(ids);
  const found = await withinLimit(clock, LIMIT_MS, asked);
  return found.flatMap((schedule, i) =>
    schedule ? [[nameOf(tube, { id: ids[i]!, attempt: schedule.attempt }), progressView(schedule)]] : [],
  );
}

/** Since when some process can't use a node: the earliest time. Undefined if all can, or none says so. */
export function awaySince(processes: readonly ProcessView[], endpoint: string): Date | undefined {
  const times = processes.flatMap((each) => each.awaySince?.[endpoint]?.getTime() ?? []);
  return times.length === 0 ? undefined : new Date(Math.min(...times));
}

/** Returns the view of one announcement. */
export function viewOf(
  { record, at, elected }: PresentProcess,
  progress: ProgressOfRuns = NO_PROGRESS,
): ProcessView {
  const { upFor, tubes, awayFor, ...told } = record;
  const away = awayFor && Object.entries(awayFor).map(([node, ms]) => [node, new Date(at - ms)] as const);
  return {
    ...told,
    ...(away && { awaySince: Object.fromEntries(away) }),
    since: new Date(at - upFor),
    toldAt: new Date(at),
    elected,
    tubes: tubes.map(({ long, ...load }) => ({
      ...load,
      longRuns: long.map(({ runFor, hasProgress: _read, ...run }) => ({
        ...run,
        since: new Date(at - runFor),
        ...progress.get(nameOf(load.tube, run)),
      })),
    })),
  };
}
