import type { Observable } from 'rxjs';
import type { DeadLetter } from '../api/dead-letter.js';
import type { DelayedJob, JobReceipt, JobRefText } from '../api/job.js';

/** What each event carries. All come from this process: the jobs that it scheduled, revoked and ran, and its nodes. */
export interface DqEventMap {
  /** An add stored a job, or replaced one. An add whose status is `kept` makes no event. */
  scheduled: { readonly receipt: JobReceipt };
  /** A handler is about to be called. */
  started: { readonly job: DelayedJob };
  /**
   * A run went well, and the ledger has taken it; also a run that returned `Again`. `took`: ms that the handler took.
   * `result`: what it returned.
   */
  completed: { readonly job: DelayedJob; readonly took: number; readonly result: unknown };
  /**
   * A run failed, and the ledger has taken it. `took`: ms until it failed. Without `retryAt` no other run follows: the
   * job is dead (the event `dead` follows), or was revoked or replaced meanwhile.
   */
  failed: {
    readonly job: DelayedJob;
    readonly error: Error;
    readonly took: number;
    readonly retryAt?: Date;
  };
  /** A job became a dead letter here. No node is asked: the letter is made of the copy in hand. */
  dead: { readonly letter: DeadLetter };
  /**
   * A revoke by this process ended as `revoked`. `ref` is the text of the receipt that it was given. After a revoke by key
   * it comes from the ledger, and is absent if the revoke only stopped an add on its way.
   */
  revoked: { readonly id: string; readonly ref?: JobRefText; readonly tube: string; readonly key?: string };
  /**
   * This process removed dead letters of a tube: so many were older than `maxAge`, and so many were younger, but beyond
   * `maxCount`. Once a round, which is about every minute.
   */
  lettersRemoved: { readonly tube: string; readonly tooOld: number; readonly tooMany: number };
  /** A run starts more than `lateAfter` after it was due; told after `started`. */
  late: { readonly job: DelayedJob };
  /** A node does not answer any more: once each time. Also once if the first connection fails. */
  nodeDown: { readonly node: string; readonly error: Error };
  /** A node answers for the first time, or again. */
  nodeUp: { readonly node: string };
  /** A node answers, but refuses to store, or takes no connection that reserves. The text says what it is, and what to do. */
  nodeTrouble: { readonly node: string; readonly message: string };
  /** A copy did not run, as its seal is not as it should be: each time that this process gets such a copy. */
  badSeal: BadSeal;
  /** A job that waited is lost: no node has a copy of it any more. Each process that consumes its tube tells it once. */
  lost: LostJob;
  /** An act of `DqControl` or of the dashboard of this process ended, or a repair by itself. A dry run makes no event. */
  operated: Operated;
}

/** A copy that did not run, as its seal is not as it should be. */
export interface BadSeal {
  /** Without the prefix. */
  readonly tube: string;
  /** Its node. */
  readonly node: string;
  /** beanstalkd's number of it. */
  readonly copyId: string;
  /** With the code `DQ_BAD_SEAL`, for people. */
  readonly reason: string;
  /** False: it is sealed with a key that this process does not have. It was handed back, as another process may have it. */
  readonly buried: boolean;
}

/** A job that waited, and whose copies are all gone. It will not run, unless a node comes back with one of them. */
export interface LostJob {
  /** Without the prefix. */
  readonly tube: string;
  /** Of the job. */
  readonly id: string;
  /** When it was due. */
  readonly dueAt: Date;
  /** Runs begun that count: more than 0 if it waited for a retry. */
  readonly attempt: number;
  /** How many copies of it were stored. */
  readonly copies: number;
}

/** An act of `DqControl`, as the event tells it. `DqInspector.acts` shows those of all processes. */
export interface Operated {
  /** Who, as the act was told; by default host and process. `nest-dq`: it began by itself. */
  readonly by: string;
  /**
   * The method of `DqControl`; from the dashboard also `reschedule` and `revoke` of `DqProducer`, `revive` and `discard` of
   * `DqDeadLetters`; on dead letters of Kafka `kafkaReplay`, `kafkaDiscard`, `kafkaReplayMany` and `kafkaDiscardMany`.
   */
  readonly act: string;
  /** On what. */
  readonly on: OperatedOn;
  /** How many jobs, letters, tubes or nodes it changed. */
  readonly count: number;
  /** What ended it before it was through; absent if it was. */
  readonly error?: Error;
}

/** What an act was on: what was given to it. */
export interface OperatedOn {
  /** Without the prefix. */
  readonly tube?: string;
  /** Of a job; of a dead letter of Kafka its partition and offset, as in `0/12`. */
  readonly id?: string;
  /** Of a job, if it was named by it. */
  readonly key?: string;
  /** The endpoint of a node. */
  readonly node?: string;
  /** Of dead letters of Kafka. */
  readonly topic?: string;
  /** Of Kafka, if it has a name. */
  readonly cluster?: string;
  /** Of an act on many. */
  readonly filter?: object;
  /** Of a move of many: the new time. */
  readonly change?: unknown;
}

/** The names of events. */
export type DqEventName = keyof DqEventMap;

/**
 * What happens to jobs and nodes, of this process only. Inject it, or decorate methods with `@OnDq`.
 * Listeners are called at once, between the steps of a job, so they should be quick. One that throws or rejects is logged,
 * and changes nothing.
 */
export abstract class DqEvents {
  /** Hot: tells what happens after the subscription, and completes when the module is closed. `DQ_BAD_OPTION`: there is no such event. */
  abstract on<N extends DqEventName>(name: N): Observable<DqEventMap[N]>;
}
