import type { Cluster } from '../cluster/cluster.js';
import type { EventHub } from '../events/event-hub.js';
import type { HandlerMethod } from '../api/job.js';
import type { Tube } from '../api/tube.js';
import type { Ledger, TubeLedger } from '../ledger/ledger.js';
import type { SettleQueue } from '../ledger/settle-queue.js';
import type { Clock } from 'nest-handlers/time';
import type { KeepDone } from './keep-done.js';
import type { AdmissionView, LedgerGate } from './ledger-gate.js';
import type { ConsumerReport } from './report.js';
import type { ReserveBudget } from './reserve/reserve-budget.js';
import type { SharedLanesByNode } from './reserve/shared-lanes.js';
import type { HandlerSettings } from './run/handler-settings.js';
import type { RunOutcome } from './run/outcome.js';
import type { ProgressReports, Run, TubeNames } from './run/run.js';
import type { Delivery } from './reserve/delivery.js';
import type { SharedInterval } from './shared-interval.js';

/** Shared by the consumers of all tubes in a process. */
export interface ConsumerParts {
  readonly cluster: Cluster;
  readonly ledger: Ledger;
  readonly settleQueue: SettleQueue;
  readonly clock: Clock;
  readonly report: ConsumerReport;
  readonly events: EventHub;
  readonly sharedTubes: SharedTubes;
  /** Absent if no other ledger can exist. */
  readonly admission?: AdmissionView | undefined;
  /** Wraps each handler. */
  readonly around?: (handler: HandlerMethod) => HandlerMethod;
}

/** Knows which tubes are also used by another program. */
export interface SharedTubes {
  /** Returns the tubes that a handler's tube stands for, by their names without the prefix. */
  tubesOf(
    tube: string | Tube,
    name: string,
  ): readonly { readonly name: string; readonly sharing: TubeSharing }[];
}

/** The special treatment of a tube shared with another program. */
export interface TubeSharing {
  /**
   * Whether it takes copies in the other program's format. These are only turned into jobs of another tube, where the handler's
   * limits apply.
   */
  readonly adopts: boolean;
  /** Opens the connections it needs. Idempotent. */
  start(): void;
  /** Turns a job in the other program's format into one of ours, after which its copy isn't needed any more. Never rejects. */
  adopt(run: Run, context: TubeContext): Promise<RunOutcome>;
  /**
   * Prevents the other program from running the job. Resolves with undefined if the handler may run, otherwise with the outcome of
   * the run without its handler. Undefined if there is nothing to prevent. Never rejects.
   */
  lock(run: Run, context: TubeContext): Promise<RunOutcome | undefined> | undefined;
}

/** A tube that no other program uses. */
export const NOT_SHARED: TubeSharing = {
  adopts: false,
  start: () => undefined,
  adopt: () => Promise.reject(new Error('copies in another format are refused when they are read')),
  lock: () => undefined,
};

/** Settings that all processes should agree on. */
export interface ConsumerSettings {
  /** Prefix of every stored tube name. */
  readonly prefix: string;
  /** How much later each copy surfaces than the one before it, in ms. */
  readonly backupDelay: number;
  /** How long a run keeps its job without a heartbeat, in ms. */
  readonly lease: number;
  /** Whether the ledger keeps the last errors of a job that is retried. @default true */
  readonly keepErrors?: boolean;
  /** Which completed jobs the ledger keeps. @default none */
  readonly keepDone?: KeepDone | undefined;
}

/** The intervals at which all tubes of a process renew their leases and touch their copies. */
export interface Beats {
  readonly leases: SharedInterval;
  /** For touching reserved copies on their nodes. */
  readonly touches: SharedInterval;
}

/** The consumer of a tube, as its parts see it. */
export interface TubeLife {
  /** Called when a copy was reserved. Returns true if it is so early that the copies after it can wait a few milliseconds. */
  arrived(delivery: Delivery): boolean;
  /** Called when a slot may be free or a copy due, so that there may be something to claim or to reserve. */
  changed(): void;
  /** Called when a copy of a finished job was deleted or buried, which a drain may be waiting for. */
  copyGone(): void;
}

/** Shared by all parts of one tube's consumer. */
export interface TubeContext extends Omit<ConsumerParts, 'ledger' | 'around' | 'sharedTubes'>, TubeNames {
  readonly sharing: TubeSharing;
  /** The tube's part of the ledger. */
  readonly ledger: TubeLedger;
  readonly sharedLanes: SharedLanesByNode;
  readonly beats: Beats;
  /** Changed by `TubeConsumer.relimit` only. */
  handling: HandlerSettings;
  /** How much later each further copy surfaces, in ms. */
  readonly backupDelay: number;
  /** How long a run keeps its job without a heartbeat, in ms. */
  readonly lease: number;
  /** Whether the ledger keeps the last errors of a job that is retried. */
  readonly keepErrors: boolean;
  /** Undefined if the ledger keeps no completed jobs. */
  readonly keepDone?: KeepDone | undefined;
  readonly gate: LedgerGate;
  readonly budget: ReserveBudget;
  readonly life: TubeLife;
  readonly progress: ProgressReports;
  /** Runs of this process whose completion the ledger hasn't acknowledged, by job id. */
  readonly runs: Map<string, Run>;
}
