// What the processes of one prefix know of each other. Nothing here decides about a job.
import type { TubeLimits } from '../ledger/limits.js';

/** Milliseconds. How often a process tells of itself, and learns of the others. */
export const ANNOUNCE_EVERY = 5_000;
/** Milliseconds of ledger time. A process that was silent for so long is gone. */
export const GONE_AFTER = 15_000;
/** Processes that are shown at most. */
export const MOST_PROCESSES = 1_000;

/** Where each process tells what it does. One process needs it, too: then there are no others. */
export interface Presence {
  /**
   * From now on the others see this process, until the function that is returned is called: at the end of the process. It
   * may take as long as one call, and never rejects. If a process dies, it is gone after `GONE_AFTER`.
   */
  join(member: Member): () => Promise<void>;
  /** The processes that are there now: at most `MOST_PROCESSES`, the one that told last first. `DQ_LEDGER_DOWN`. */
  all(): Promise<PresentProcess[]>;
  /**
   * Marks a node as drained, or removes the mark. This process learns it at once, and the others with their next news. True:
   * that changed something. `DQ_LEDGER_DOWN`.
   */
  markDrained(endpoint: string, drained: boolean): Promise<boolean>;
  /** The endpoints of the nodes that are marked as drained, at most 100. `DQ_LEDGER_DOWN`. */
  drainedNodes(): Promise<string[]>;
}

/** A process, as the place where they meet asks it. */
export interface Member {
  /** Differs from that of any other process, also of one on the same machine. */
  readonly id: string;
  /** The settings that all should share, as one text: two processes agree if their texts are the same. */
  readonly settings: string;
  /** What it does at this moment. */
  describe(): ProcessRecord;
  /** Whether another process should be elected in its place. Is asked each time it tells of itself. */
  yields(): boolean;
  learn(news: PresenceNews): void;
}

/** What a process learns of the others. */
export interface PresenceNews {
  /**
   * Milliseconds of the clock: so long this process is the elected one. 0: another process is. Until then nobody else can be
   * elected, even if this process hears nothing more.
   */
  readonly electedUntil: number;
  /** The endpoints of the nodes that are marked as drained. */
  readonly drained: readonly string[];
  /** The `settings` of other processes, as far as they differ from those of this one: some of them, if there are many. */
  readonly otherSettings: readonly string[];
}

export interface PresentProcess {
  readonly record: ProcessRecord;
  /** Ledger time, ms: when it told this. */
  readonly at: number;
  readonly elected: boolean;
}

/** What a process tells of itself. Durations and no instants, as each process has its own clock. */
export interface ProcessRecord {
  readonly id: string;
  /** The name of the machine. */
  readonly host: string;
  readonly pid: number;
  /** Of nest-dq. */
  readonly version: string;
  /** Of Node.js. */
  readonly nodeVersion: string;
  /** The name of the cluster in its application. */
  readonly cluster?: string;
  /** Milliseconds since it joined. */
  readonly upFor: number;
  /** False: it only produces. */
  readonly consumes: boolean;
  /** By endpoint: whether the node stores jobs and lets the process reserve them. */
  readonly nodes: Readonly<Record<string, boolean>>;
  readonly settings: ProcessSettings;
  /** Jobs that it found to be lost, since it joined. Absent: none. */
  readonly lost?: number;
  /** Jobs that it added and that the index has no room for, since it joined. Absent: none. */
  readonly unlisted?: number;
  /** Jobs that its repair has still to look at, about. Absent: there is no repair. */
  readonly toRepair?: number;
  /** Those that it consumes: at most 1,000. */
  readonly tubes: readonly TubeLoad[];
}

/** Durations in milliseconds. */
export interface ProcessSettings {
  readonly prefix: string;
  readonly replicas: number;
  readonly minWritten: number;
  readonly lease: number;
  readonly doneTtl: number;
  readonly staleAfter: number;
}

/** What a process has at hand of one tube. */
export interface TubeLoad {
  /** Without the prefix. */
  readonly tube: string;
  readonly concurrency: number;
  /** Absent: its handler has no limits. */
  readonly limits?: TubeLimits;
  /** Handlers that have not returned. */
  readonly running: number;
  /** Copies in hand that are early, or due without a slot. */
  readonly held: number;
  /** Runs that take longer than a second, the first to begin first: at most 100. */
  readonly long: readonly LongRun[];
}

export interface LongRun {
  /** Of the job. */
  readonly id: string;
  readonly attempt: number;
  /** Milliseconds since its handler was called. */
  readonly runFor: number;
}
