import type { Observable } from 'rxjs';
import type { KqMessage } from '../api/received.js';
import type { Unavailable as KqUnavailable } from '../driver/driver.js';
import type { Pushed } from '../api/message.js';

export type { Unavailable as KqUnavailable } from '../driver/driver.js';

/**
 * Payloads of events. All events come from this process: the messages it pushed and handled, and its groups. Durations are in
 * ms.
 */
export interface KqEventMap {
  /** A run of the handler succeeded, or a transaction of it has committed. One event per message of a batch. */
  handled: Handled;
  /** A run failed, and the message will run again in place. */
  failed: FailedRun;
  /** A run failed after its transaction had committed: the message doesn't run again, and is `handled`, too. */
  failedLate: Omit<FailedRun, 'after'>;
  /** No run could handle it, and its dead letter is stored in `topic`. */
  died: DeadMessage & { readonly topic: string };
  /** No run could handle it, and it is dropped because its handler's `deadLetter` is `'drop'`. */
  dropped: DeadMessage;
  /** No run could handle it, and its dead letter can't be stored. Blocks messages after it in its order. */
  held: HeldMessage;
  /**
   * A run failed, and the message waits elsewhere for its next one, in a retry topic or as a job of nest-dq; its partition
   * continues.
   */
  deferred: DeferredMessage;
  /** Like `deferred`, but it couldn't be stored there. Blocks messages after it in its order. */
  notDeferred: DeferredMessage & { readonly trouble: Error };
  /** A handler is still running 5 s after its `timeout`; messages of the run may run a second time concurrently. */
  overran: { readonly messages: readonly KqMessage[]; readonly group: string };
  /** A message hasn't been handled for long, and its partition isn't fetched until it is. Emitted once per message. */
  stalled: StalledPartition;
  /** Messages of a partition were removed from the log, by its retention, before the group could handle them. */
  skipped: SkippedMessages;
  /** This process joined the group, for the first time or `again`. `rebalanced` follows. */
  groupJoined: {
    readonly group: string;
    readonly topics: readonly (string | RegExp)[];
    readonly again: boolean;
  };
  /**
   * This process is out of the group: it was expelled or couldn't join; emitted for each failed attempt. `retryIn`: delay before
   * it rejoins; absent if the group hasn't answered for `sessionTimeout`, and may have reassigned the partitions. Without
   * `error` and `retryIn` it left because the application is shutting down.
   */
  groupLeft: { readonly group: string; readonly error?: Error; readonly retryIn?: number };
  /** The group reassigned its partitions, or this process is out of it: which ones it has, got and lost. */
  rebalanced: Rebalanced;
  /**
   * The group took partitions away while handlers ran: their signals are aborted, and other processes may run the same messages
   * concurrently. `runs`: number of runs by partition.
   */
  overlapped: {
    readonly group: string;
    readonly partitions: readonly (KqPartition & { readonly runs: number })[];
  };
  /** Some topics or partitions can't be read, or can be again. All others continue. */
  unavailable: UnavailableChange;
  /** The group couldn't commit, and retries. Until then a crash repeats what was handled since the last commit. */
  commitFailed: { readonly group: string; readonly error: Error };
  /** A message is stored; in a transaction even if that is aborted later. */
  pushed: Pushed;
  /** A push failed, and its caller got this error, too. Not emitted for a push with `delay` or `at`, which stores a job. */
  pushFailed: PushFailed;
}

/** A handled message. */
export interface Handled {
  /** The message, with its attempt. */
  readonly message: KqMessage;
  /** Consumer group of the handler. */
  readonly group: string;
  /** Duration of its run in ms, with guards, pipes and interceptors; a batch has one run. */
  readonly took: number;
  /** Ms from the message's timestamp to the start of its run. Two machines' clocks may differ; never negative. */
  readonly lateness: number;
}

/** A failed run. */
export interface FailedRun {
  /** Its `value` is a Buffer if it couldn't be read because the topic's schema failed. */
  readonly message: KqMessage;
  /** Consumer group of the handler. */
  readonly group: string;
  /** The error thrown by the handler, or the reason the value could not be read. */
  readonly error: Error;
  /** Ms until the failure. */
  readonly took: number;
  /** Ms before the next run. */
  readonly after: number;
}

/** Why a message won't run again. */
export interface Death {
  /**
   * `attempts`: none is left. `notRetried`: the handler's `retryOn` or `notRetryOn` excludes the error. `discarded`: the handler
   * discarded it. `unreadable`: the topic's format or schema refuses it.
   */
  readonly why: 'attempts' | 'notRetried' | 'discarded' | 'unreadable';
  /** The error of the last run. */
  readonly error: Error;
  /** Number of runs in this process. */
  readonly runs: number;
}

/** A message that no run could handle. */
export interface DeadMessage extends Death {
  /** Its `value` is a Buffer if it couldn't be read. */
  readonly message: KqMessage;
  /** Consumer group of the handler. */
  readonly group: string;
}

/** A failed message that waits elsewhere, or should. */
export interface DeferredMessage {
  /** The name of a retry topic, or `nest-dq`. */
  readonly to: string;
  /** Its `value` is a Buffer if it couldn't be read. */
  readonly message: KqMessage;
  /** Consumer group of the handler. */
  readonly group: string;
  /** The failure. */
  readonly error: Error;
  /** Ms before the next run, or before the next attempt to store it. */
  readonly after: number;
}

/** A message that no run could handle, and that couldn't be stored. */
export interface HeldMessage extends DeadMessage {
  /** Why it can't be stored. */
  readonly trouble: Error;
  /** Ms before the next attempt. */
  readonly after: number;
}

/** A partition of a topic. */
export interface KqPartition {
  /** Topic name. */
  readonly topic: string;
  /** Partition number, from 0. */
  readonly partition: number;
}

/** A partition stalled by one message. */
export interface StalledPartition extends KqPartition {
  /** Consumer group that is stalled there. */
  readonly group: string;
  /** Offset of the message, in decimal digits. */
  readonly offset: string;
  /** Number of messages after it that are here, handled or not. */
  readonly behind: number;
  /** Ms for which it has stalled the partition, at least. */
  readonly after: number;
}

/** Messages removed before they were handled. */
export interface SkippedMessages extends KqPartition {
  /** Consumer group that never saw them. */
  readonly group: string;
  /** First missing offset, in decimal digits. */
  readonly from: string;
  /** Offset at which the group continues, in decimal digits. */
  readonly to: string;
  /** Number of offsets in between, some of which may have been gaps. */
  readonly count: number;
}

/** The effect of a rebalance on this process. */
export interface Rebalanced {
  /** Group name. */
  readonly group: string;
  /** All partitions it has now. */
  readonly partitions: readonly KqPartition[];
  /** Partitions it didn't have before. */
  readonly assigned: readonly KqPartition[];
  /** Partitions it had before and no longer has. */
  readonly lost: readonly KqPartition[];
}

/** Topics that became unreadable or readable again, and partitions among those of this process. */
export interface UnavailableChange {
  /** Group name. */
  readonly group: string;
  /** Everything that can't be read now. */
  readonly places: readonly KqUnavailable[];
  /** Those that could be read before. */
  readonly began: readonly KqUnavailable[];
  /** Those that can be read again, or no longer belong to this process. */
  readonly ended: readonly KqUnavailable[];
}

/** A message that wasn't stored, or whose fate is unknown. */
export interface PushFailed {
  /** Topic name. */
  readonly topic: string;
  /** The key as given; absent if there is none. */
  readonly key?: string | Uint8Array | null;
  /** A `KqError`; `indeterminate` says whether the message may be stored. */
  readonly error: Error;
}

/** The names of events. */
export type KqEventName = keyof KqEventMap;

/**
 * Events of messages and groups, of this process only. Inject it, or decorate methods with `@OnKq`. Listeners are called
 * synchronously, between the steps of a message, so they should be quick. One that throws or rejects is logged, and changes
 * nothing.
 */
export abstract class KqEvents {
  /**
   * Returns a hot observable: emits events after the subscription, and completes when the module is closed. `KQ_BAD_OPTION`:
   * unknown event.
   */
  abstract on<N extends KqEventName>(name: N): Observable<KqEventMap[N]>;
}
