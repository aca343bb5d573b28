// How the processes of one prefix know of each other. Nothing here decides about a job.
import type { TubeLimits } from '../api/limit-options.js';
import type { ResolvedBackoff } from '../time/backoff.js';
import type { LimitChange, LimitChanges } from './limit-changes.js';

/** How often a process announces itself, and learns of the others, in ms. */
export const ANNOUNCE_EVERY_MS = 5_000;
/** A process that hasn't announced itself for this long may have been killed. */
export const SILENT_AFTER_MS = 9_000;
/** A process silent for this long is gone. Ledger time. */
export const GONE_AFTER_MS = 15_000;
/** The latest processes that ended without a goodbye are remembered: this many, while any process announces itself once a day. */
export const MAX_GONE = 20;
/** Maximum number of processes shown. */
export const MAX_PROCESSES = 1_000;

/** Where each process announces what it does. A single process uses it too: then there are no others. */
export interface Presence {
  /**
   * Makes this process visible to the others until the returned function is called, at the end of the process. That function may
   * take as long as one call, and never rejects. A process that dies is gone after `GONE_AFTER`.
   */
  join(member: Member): () => Promise<void>;
  /** Resolves with the current processes: at most `MOST_PROCESSES`, latest announcement first. Rejects with `DQ_LEDGER_DOWN`. */
  all(): Promise<PresentProcess[]>;
  /**
   * Resolves with the latest processes that fell silent without a goodbye: killed, frozen, or cut off. At most `MAX_GONE`, the last
   * one first. One that announces itself again is present. Rejects with `DQ_LEDGER_DOWN`.
   */
  gone(): Promise<PresentProcess[]>;
  /**
   * Marks a node as drained, or removes the mark. This process learns it at once, and the others with their next news. Resolves
   * with true if that changed something. Rejects with `DQ_LEDGER_DOWN`.
   */
  markDrained(endpoint: string, drained: boolean): Promise<boolean>;
  /** Resolves with the endpoints of drained nodes, at most 100. Rejects with `DQ_LEDGER_DOWN`. */
  drainedNodes(): Promise<string[]>;
  /**
   * Replaces the change of a tube's limits; undefined removes it. This process learns it at once, and the others with their next
   * news. Resolves with the previous change. Rejects with `DQ_LEDGER_DOWN`; `DQ_BAD_OPTION` if too many tubes are changed.
   * @param tube Without the prefix.
   */
  changeLimits(tube: string, change: LimitChange | undefined): Promise<LimitChange | undefined>;
}

/** A process, as the presence sees it. */
export interface Member {
  /** Unique id of the process, even among those on the same machine. */
  readonly id: string;
  /** The settings that all should share, as one string: two processes agree if their strings are equal. */
  readonly settings: string;
  /** Describes what it does right now. */
  describe(): ProcessRecord;
  /** Whether another process should be elected in its place. Called on each announcement. */
  yields(): boolean;
  learn(news: PresenceNews): void;
}

/** News of the other processes. */
export interface PresenceNews {
  /**
   * Time on the local clock, in ms, until which this process is the leader; 0 if another one is. Until then nobody else can be
   * elected, even if this process hears nothing more.
   */
  readonly electedUntil: number;
  /** The endpoints of drained nodes. */
  readonly drained: readonly string[];
  /** The changed limits of tubes, at `now`. */
  readonly limits: LimitChanges;
  /** Ledger time in ms. */
  readonly now: number;
  /** The `settings` of other processes that differ from those of this one: some of them, if there are many. */
  readonly otherSettings: readonly string[];
}

export interface PresentProcess {
  readonly record: ProcessRecord;
  /** Ledger time of the announcement, in ms. */
  readonly at: number;
  readonly elected: boolean;
}

/** The announcement of a process. It has durations instead of times, since each process has its own clock. */
export interface ProcessRecord {
  readonly id: string;
  /** Name of the machine. */
  readonly host: string;
  readonly pid: number;
  /** Version of nest-dq. */
  readonly version: string;
  /** Version of Node.js. */
  readonly nodeVersion: string;
  /** The name of the cluster in its application. */
  readonly cluster?: string;
  /** Time since it joined, in ms. */
  readonly upFor: number;
  /** False if it only produces. */
  readonly consumes: boolean;
  /** Whether each node, by endpoint, stores jobs and lets the process reserve them. */
  readonly nodes: Readonly<Record<string, boolean>>;
  /** For how long each node, by endpoint, hasn't, in ms. Absent if all do. */
  readonly awayFor?: Readonly<Record<string, number>>;
  readonly settings: ProcessSettings;
  /** Lost jobs found since it joined. Absent if none. */
  readonly lost?: number;
  /** Jobs added since it joined for which the index had no room. Absent if none. */
  readonly unlisted?: number;
  /** Approximate number of jobs its repair still has to look at. Absent if no repair is running. */
  readonly toRepair?: number;
  /** The consumed tubes, at most 1,000. */
  readonly tubes: readonly TubeLoad[];
}

/** Durations in ms. */
export interface ProcessSettings {
  readonly prefix: string;
  readonly replicas: number;
  readonly minWritten: number;
  readonly lease: number;
  readonly doneTtl: number;
  readonly staleAfter: number;
}

/** Held and running jobs of one tube in one process. */
export interface TubeLoad {
  /** Name without the prefix. */
  readonly tube: string;
  readonly concurrency: number;
  /** Maximum number of runs of a job without an option of its own. Absent from versions that don't announce it. */
  readonly attempts?: number;
  /** Default expiry of its jobs, in ms after their due time. */
  readonly expireAfter?: number;
  /** The backoff of such a job. Absent if it is a function. */
  readonly backoff?: ResolvedBackoff;
  /** Absent if its handler has no limits. */
  readonly limits?: TubeLimits;
  /** Present if an operator changed its concurrency or limits: ledger time, in ms, until when; 0 if without an end. */
  readonly changedUntil?: number;
  /** Plan of its series, as `Occurrences` has it. Absent if it's no series. */
  readonly plan?: string;
  /** Number of handlers that haven't returned. */
  readonly running: number;
  /** Number of held copies that are early, or due without a slot. */
  readonly held: number;
  /** Runs that have taken longer than a second, by start: at most 100. */
  readonly long: readonly LongRun[];
}

export interface LongRun {
  /** Id of the job. */
  readonly id: string;
  /** Absent if it has none, if the cluster encrypts it, or from versions that don't announce it. */
  readonly key?: string;
  readonly attempt: number;
  /** Time since its handler was called, in ms. */
  readonly runFor: number;
  /** Whether its handler reported progress, which is in the ledger. */
  readonly hasProgress?: boolean;
}
