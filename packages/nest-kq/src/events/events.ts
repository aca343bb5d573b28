import type { Observable } from 'rxjs';
import type { KqMessage } from '../api/received.js';
import type { Unavailable as KqUnavailable } from '../driver/driver.js';
import type { Pushed } from '../api/message.js';

export type { Unavailable as KqUnavailable } from '../driver/driver.js';

/**
 * What each event carries. All come from this process: the messages that it pushed and handled, and its groups. Times are
 * milliseconds.
 */
export interface KqEventMap {
  /** A run of its handler went well, or a transaction of it has committed; of a batch, an event for each message. */
  handled: Handled;
  /** A run failed, and the message runs again in place. */
  failed: FailedRun;
  /** A run failed after its transaction had committed: the message does not run again, and is `handled`, too. */
  failedLate: Omit<FailedRun, 'after'>;
  /** No run could handle it, and its dead letter is stored. `topic`: where. */
  died: DeadMessage & { readonly topic: string };
  /** No run could handle it, and it is gone, as its handler's `deadLetter` is `'drop'`. */
  dropped: DeadMessage;
  /** No run could handle it, and its dead letter cannot be stored. It holds what is behind it in its order. */
  held: HeldMessage;
  /** A run failed, and the message waits elsewhere for its next one, in a retry topic or as a job of nest-dq; its partition goes on. */
  deferred: DeferredMessage;
  /** The same, but it could not be stored there. It holds what is behind it in its order. */
  notDeferred: DeferredMessage & { readonly trouble: Error };
  /** A handler goes on 5 s after its `timeout`; the messages of the run may run a second time beside it. */
  overran: { readonly messages: readonly KqMessage[]; readonly group: string };
  /** A message has not been handled for long, and its partition fetches nothing more until it is. Told once of each such message. */
  stalled: StalledPartition;
  /** Messages of a partition were removed from the log, by its retention, before the group could handle them. */
  skipped: SkippedMessages;
  /** This process is in the group: for the first time, or `again`. `rebalanced` follows. */
  groupJoined: {
    readonly group: string;
    readonly topics: readonly (string | RegExp)[];
    readonly again: boolean;
  };
  /**
   * This process is not in the group: it was put out, or could not join; told at each try that failed. `retryIn`: when it joins
   * again; absent: the group has not answered for `sessionTimeout`, and may have given the partitions to others. Without both
   * it has left, as the application ends.
   */
  groupLeft: { readonly group: string; readonly error?: Error; readonly retryIn?: number };
  /** The group has given its partitions anew, or this process is out of it: which it has, which it got, and which it lost. */
  rebalanced: Rebalanced;
  /**
   * The group took partitions away while handlers ran: their signals are aborted, and other processes may run the same messages
   * meanwhile. `runs`: how many, by partition.
   */
  overlapped: {
    readonly group: string;
    readonly partitions: readonly (KqPartition & { readonly runs: number })[];
  };
  /** Some of its topics or partitions cannot be read, or can be again. All others go on. */
  unavailable: UnavailableChange;
  /** The group could not commit, and tries again. Until then a crash brings back what was handled since. */
  commitFailed: { readonly group: string; readonly error: Error };
  /** A message is stored; in a transaction also if that is aborted later. */
  pushed: Pushed;
  /** A push failed, and its caller got this error, too; not of one with `delay` or `at`, which stores a job. */
  pushFailed: PushFailed;
}

/** A message that was handled. */
export interface Handled {
  readonly message: KqMessage;
  readonly group: string;
  /** How long its run took, with guards, pipes and interceptors; a batch has one run. */
  readonly took: number;
  /** From the message's time to the begin of its run. Two machines may have different clocks; it is never negative. */
  readonly lateness: number;
}

/** A run that failed. */
export interface FailedRun {
  /** Its `value` is a Buffer where it could not be read, as the topic's schema failed. */
  readonly message: KqMessage;
  readonly group: string;
  readonly error: Error;
  /** How long it took until it failed. */
  readonly took: number;
  /** After how long the next run comes. */
  readonly after: number;
}

/** Why no further run can handle a message. */
export interface Death {
  /**
   * `attempts`: none is left. `notRetried`: its handler's `retryOn` or `notRetryOn` says that its error is worth no other
   * run. `discarded`: its handler said so. `unreadable`: its topic's format or schema refuses it.
   */
  readonly why: 'attempts' | 'notRetried' | 'discarded' | 'unreadable';
  readonly error: Error;
  /** How many it had in this process. */
  readonly runs: number;
}

/** A message that no run could handle. */
export interface DeadMessage extends Death {
  /** Its `value` is a Buffer where it could not be read. */
  readonly message: KqMessage;
  readonly group: string;
}

/** A message that failed, and that waits elsewhere, or should. */
export interface DeferredMessage {
  /** Where: the name of a retry topic, or `nest-dq`. */
  readonly to: string;
  /** Its `value` is a Buffer where it could not be read. */
  readonly message: KqMessage;
  readonly group: string;
  /** Why it failed. */
  readonly error: Error;
  /** After how long the next run comes, or it is offered again. */
  readonly after: number;
}

/** A message that no run could handle, and that nothing could store. */
export interface HeldMessage extends DeadMessage {
  /** Why it cannot be stored. */
  readonly trouble: Error;
  /** After how long it is tried again. */
  readonly after: number;
}

/** A partition of a topic. */
export interface KqPartition {
  readonly topic: string;
  readonly partition: number;
}

/** A partition that waits for one message. */
export interface StalledPartition extends KqPartition {
  readonly group: string;
  /** Of the message, in decimal digits. */
  readonly offset: string;
  /** Messages behind it that are here, handled or not. */
  readonly behind: number;
  /** How long it has held the partition at least. */
  readonly after: number;
}

/** Messages that nobody handles any more. */
export interface SkippedMessages extends KqPartition {
  readonly group: string;
  /** The first offset that is gone, in decimal digits. */
  readonly from: string;
  /** The offset from which the group goes on, in decimal digits. */
  readonly to: string;
  /** Offsets in between; some of them may have been gaps. */
  readonly count: number;
}

/** What a rebalance of a group meant for this process. */
export interface Rebalanced {
  readonly group: string;
  /** All that it has now. */
  readonly partitions: readonly KqPartition[];
  /** Those of them that it did not have before. */
  readonly assigned: readonly KqPartition[];
  /** Those that it had before, and has no more. */
  readonly lost: readonly KqPartition[];
}

/** What of a group's topics became unreadable or readable again. Of partitions, those that this process has. */
export interface UnavailableChange {
  readonly group: string;
  /** All that cannot be read now. */
  readonly places: readonly KqUnavailable[];
  /** Those of them that could be read before. */
  readonly began: readonly KqUnavailable[];
  /** Those that are read again, or no longer belong to this process. */
  readonly ended: readonly KqUnavailable[];
}

/** A message that was not stored, or of which that is not known. */
export interface PushFailed {
  readonly topic: string;
  /** As it was given; absent if it has none. */
  readonly key?: string | Uint8Array | null;
  /** A `KqError`: its `indeterminate` says whether the message may be stored. */
  readonly error: Error;
}

/** The names of events. */
export type KqEventName = keyof KqEventMap;

/**
 * What happens to messages and groups, of this process only. Inject it, or decorate methods with `@OnKq`.
 * Listeners are called at once, between the steps of a message, so they should be quick. One that throws or rejects is
 * logged, and changes nothing.
 */
export abstract class KqEvents {
  /** Hot: tells what happens after the subscription, and completes when the module is closed. `KQ_BAD_OPTION`: there is no such event. */
  abstract on<N extends KqEventName>(name: N): Observable<KqEventMap[N]>;
}
