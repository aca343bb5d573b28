import type { Observable } from 'rxjs';
import type { DeadLetter } from '../api/dead-letter.js';
import type { DelayedJob, JobReceipt, JobRefText } from '../api/job.js';

/** Payload of each event of this process: the jobs it scheduled, revoked and ran, and its nodes. */
export interface DqEventMap {
  /** An add stored or replaced a job. Not emitted for an add with status `kept`. */
  scheduled: { readonly receipt: JobReceipt };
  /** A handler is about to be called. */
  started: { readonly job: DelayedJob };
  /**
   * A run succeeded and the ledger accepted it, including a run that returned `Again`. `took`: duration of the handler in ms.
   * `result`: its return value.
   */
  completed: { readonly job: DelayedJob; readonly took: number; readonly result: unknown };
  /**
   * A run failed and the ledger accepted that. `took`: time until it failed, in ms. Without `retryAt` no other run follows: the
   * job is dead (the event `dead` follows), or was revoked or replaced in the meantime.
   */
  failed: {
    readonly job: DelayedJob;
    readonly error: Error;
    readonly took: number;
    readonly retryAt?: Date;
  };
  /** A job became a dead letter in this process. The letter is built from the copy it holds; no node is asked. */
  dead: { readonly letter: DeadLetter };
  /**
   * A job expired: this process found that it had not started by then, so it never starts. Not emitted if it became a dead letter
   * (see `onExpired`).
   */
  expired: ExpiredJob;
  /**
   * A revoke by this process ended as `revoked`. `ref` is the reference it was given. For a revoke by key it comes from the
   * ledger, and is absent if the revoke only stopped an add in flight.
   */
  revoked: { readonly id: string; readonly ref?: JobRefText; readonly tube: string; readonly key?: string };
  /**
   * This process removed dead letters of a tube: `tooOld` were older than `maxAge`, and `tooMany` were younger but beyond
   * `maxCount`. Emitted once per round, about once a minute.
   */
  lettersRemoved: { readonly tube: string; readonly tooOld: number; readonly tooMany: number };
  /** A run starts more than `lateAfter` after it was due. Follows `started`. */
  late: { readonly job: DelayedJob };
  /** A node stopped answering; once per outage. Also emitted once if the first connection fails. */
  nodeDown: { readonly node: string; readonly error: Error };
  /** A node answers for the first time, or again. */
  nodeUp: { readonly node: string };
  /** A node answers but refuses to store, or accepts no connections for reserving. `message` says what is wrong and what to do. */
  nodeTrouble: { readonly node: string; readonly message: string };
  /** A copy was not run because its seal is wrong. Emitted each time this process gets such a copy. */
  badSeal: BadSeal;
  /** A waiting job is lost: no node has a copy of it any more. Emitted once by each process that consumes its tube. */
  lost: LostJob;
  /** An action of `DqControl` or of this process's dashboard ended, or an automatic repair. Not emitted for a dry run. */
  operated: OperatorAct;
}

/** A job that never starts, because it had not started by its expiry. */
export interface ExpiredJob {
  /** Id of the job. */
  readonly id: string;
  /** Finds the job, as a receipt's `ref`. */
  readonly ref: JobRefText;
  /** Tube name without the prefix. */
  readonly tube: string;
  /** Absent for a plain job. */
  readonly key?: string;
  /** When the job was due. */
  readonly dueAt: Date;
  /** Its latest start. */
  readonly expiredAt: Date;
}

/** A copy that was not run because its seal is wrong. */
export interface BadSeal {
  /** Tube name without the prefix. */
  readonly tube: string;
  /** Endpoint of its node. */
  readonly node: string;
  /** Job id in beanstalkd. */
  readonly copyId: string;
  /** Reason for people, including the code `DQ_BAD_SEAL`. */
  readonly reason: string;
  /** False if it is sealed with a key that this process doesn't have. It was then handed back, since another process may have the key. */
  readonly buried: boolean;
}

/** A waiting job whose copies are all gone. It won't run unless a node comes back with a copy. */
export interface LostJob {
  /** Tube name without the prefix. */
  readonly tube: string;
  /** Id of the job. */
  readonly id: string;
  /** When the job was due. */
  readonly dueAt: Date;
  /** Number of runs started that count; more than 0 if the job was waiting for a retry. */
  readonly attempt: number;
  /** Number of copies that were stored. */
  readonly copies: number;
}

/** An action of `DqControl`, as reported by the event. `DqInspector.acts` lists those of all processes. */
export interface OperatorAct {
  /** Who did it, as passed to the action; host and process by default. `nest-dq` if it started automatically. */
  readonly by: string;
  /**
   * Method of `DqControl`; from the dashboard also `reschedule` and `revoke` of `DqProducer`, `revive` and `discard` of
   * `DqDeadLetters`; for Kafka dead letters `kafkaReplay`, `kafkaDiscard`, `kafkaReplayMany` and `kafkaDiscardMany`.
   */
  readonly act: string;
  /** Target of the action. */
  readonly on: ActTarget;
  /** Number of jobs, letters, tubes or nodes changed. */
  readonly count: number;
  /** Error that ended it early; absent if it completed. */
  readonly error?: Error;
}

/** Target of an action, from its arguments. */
export interface ActTarget {
  /** Tube name without the prefix. */
  readonly tube?: string;
  /** Id of a job; for a Kafka dead letter its partition and offset, as in `0/12`. */
  readonly id?: string;
  /** Key of a job, if it was referred to by key. */
  readonly key?: string;
  /** Endpoint of a node. */
  readonly node?: string;
  /** Topic of the Kafka dead letters. */
  readonly topic?: string;
  /** Name of the Kafka cluster, if it has one. */
  readonly cluster?: string;
  /** Filter of a bulk action. */
  readonly filter?: object;
  /** New time of a bulk move. */
  readonly change?: unknown;
}

/** Name of an event. */
export type DqEventName = keyof DqEventMap;

/**
 * Payload of each event with `scope: 'cluster'`: of all processes of the cluster that have the option `clusterEvents`, this one
 * included.
 */
export interface DqClusterEventMap {
  /** A run succeeded. `took`: duration of the handler in ms. `again`: true if it returned `Again`, so that its job continues. */
  completed: ClusterEvent & { readonly attempt: number; readonly took: number; readonly again?: true };
  /** A job became a dead letter. `error`: cut after 300 characters; absent if there was none, or `keepErrors` is off. */
  dead: ClusterEvent & {
    readonly attempt: number;
    readonly why: DeadLetter['why'];
    readonly error?: { readonly name: string; readonly message: string };
  };
  /** A job expired, and didn't become a dead letter. `expiredAt`: its latest start. */
  expired: ClusterEvent & { readonly expiredAt: Date };
}

/** Fields of all events with `scope: 'cluster'`. */
export interface ClusterEvent {
  /** Id of the job. With the tube, it finds the job. */
  readonly id: string;
  /** Tube name without the prefix. */
  readonly tube: string;
  /** Absent for a plain job, and if the cluster encrypts its jobs. */
  readonly key?: string;
  /** When the job, or its retry, was due. */
  readonly dueAt: Date;
  /** When it happened, in ledger time. */
  readonly at: Date;
  /** The process in which it happened, as `host:pid`. */
  readonly process: string;
}

/** Name of an event that other processes emit, too. */
export type DqClusterEventName = keyof DqClusterEventMap;

export const CLUSTER_EVENT_NAMES: readonly DqClusterEventName[] = ['completed', 'dead', 'expired'];

/**
 * Events of jobs and nodes, of this process, or of all with `scope: 'cluster'`. Inject it, or decorate methods with `@OnDq`.
 * Listeners are called synchronously, between the steps of a job, so they should be quick. If one throws or rejects, the error is
 * logged and nothing else changes.
 */
export abstract class DqEvents {
  /**
   * Returns a hot observable that emits events from the time of subscription and completes when the module is closed.
   * `DQ_BAD_OPTION` if there is no such event.
   */
  abstract on<N extends DqEventName>(name: N, options?: { scope?: 'process' }): Observable<DqEventMap[N]>;
  /**
   * Returns the same for an event of all processes that have the option `clusterEvents`, as this one needs it, too. Each arrives
   * at most once, some 100 ms later; what is lost is counted and logged. `DQ_BAD_OPTION`: the option is off, or there is no such
   * event of other processes.
   */
  abstract on<N extends DqClusterEventName>(
    name: N,
    options: { scope: 'cluster' },
  ): Observable<DqClusterEventMap[N]>;
}
