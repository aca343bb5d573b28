import type { DelayedPush, LaterOptions, MessageOptions, Pushed, PushResult } from '../api/message.js';
import type { KqMessage } from '../api/received.js';
import type { Topic } from '../api/topic.js';

/**
 * Pushes messages to topics. Inject it.
 *
 * When a push resolves, its message is stored once, on all in-sync replicas. Pushes made while a request is in flight are
 * batched into the next one, so don't await each push where many callers push or one has many messages.
 *
 * A push may reject with `KQ_BAD_TOPIC`, `KQ_BAD_MESSAGE`, `KQ_TOO_LARGE`, `KQ_UNKNOWN_TOPIC`, `KQ_REFUSED`, `KQ_CLOSED`,
 * `KQ_FULL` (too many messages are waiting for an answer), `KQ_REGISTRY` (the schema registry of the topic's format doesn't
 * answer) or `KQ_AWAY` (no broker answered in time; see `indeterminate`). Only after an `indeterminate` error may the message be
 * stored.
 */
export abstract class KqPusher {
  /**
   * Pushes a message. Messages of a topic with the same key are stored in the order of the calls.
   * @param value A value of the topic's format, by default JSON. Null for a tombstone.
   */
  abstract push<In = unknown>(
    topic: string | Topic<In>,
    value: NoInfer<In> | null,
    options?: MessageOptions,
  ): Promise<Pushed>;
  /**
   * With `delay` or `at` the message waits in nest-dq, which pushes it at least once and not earlier. Resolves when the job is
   * stored. Requires `KqDqModule` of `nest-kq/dq`, otherwise `KQ_CONFIG`; also `KQ_BAD_MESSAGE`: not a duration or time;
   * `KQ_TOO_LARGE`: too large for a job; `KQ_AWAY`: too few nest-dq nodes answer.
   */
  abstract push<In = unknown>(
    topic: string | Topic<In>,
    value: NoInfer<In> | null,
    options: LaterOptions,
  ): Promise<DelayedPush>;

  /**
   * Resolves with a result for each message, in their order, and doesn't reject if some fail. Rejects before anything is stored
   * if the topic is wrong or `messages` isn't an iterable of objects. The list may have any length: it waits for room instead of
   * failing with `KQ_FULL`, and leaves half of the room to others. Pushes to the topic that don't wait for it may land in
   * between.
   */
  abstract pushMany<In = unknown>(
    topic: string | Topic<In>,
    messages: Iterable<MessageOptions & { readonly value: NoInfer<In> | null }>,
  ): Promise<PushResult[]>;

  /** Resolves once everything pushed before is stored or has failed. Never rejects. */
  abstract flush(): Promise<void>;

  /**
   * Stores all messages of `work` or none: they become visible once it has returned and the transaction is committed.
   * Transactions of a pusher run one at a time.
   *
   * Resolves with the result of `work`. If `work` throws or one of its pushes fails, aborts the transaction and rejects with
   * that error. `KQ_TRANSACTION`: it can't be committed (`indeterminate` if the result is unknown), or it was started inside
   * another transaction of this pusher and would wait forever. `KQ_CONFIG`: the pusher has no `transactionalId`. Also `KQ_AWAY`,
   * `KQ_REFUSED` and `KQ_CLOSED`.
   */
  abstract transaction<T>(work: (tx: KqTransaction) => Promise<T>): Promise<T>;
}

/** The pusher of a transaction. Once the transaction is over, every call is `KQ_TRANSACTION`. */
export abstract class KqTransaction {
  /** Like `KqPusher.push`. A failed push aborts the transaction, whether awaited or not. */
  abstract push<In = unknown>(
    topic: string | Topic<In>,
    value: NoInfer<In> | null,
    options?: MessageOptions,
  ): Promise<Pushed>;

  /** Resolves in the order of the messages. Rejects as a whole, since any failure aborts the transaction. */
  abstract pushMany<In = unknown>(
    topic: string | Topic<In>,
    messages: Iterable<MessageOptions & { readonly value: NoInfer<In> | null }>,
  ): Promise<Pushed[]>;

  /**
   * Marks messages as handled when the transaction commits, atomically with what it pushes. Takes the message the handler got,
   * or those of its batch from the first one on, and requires `order: 'partition'`.
   *
   * If another process has taken over the partition, the commit is `KQ_TRANSACTION`. After the commit the message doesn't run
   * again, whatever its handler does. Throws `KQ_CONFIG` (another order, another cluster, a message that came back through
   * nest-dq) or `KQ_BAD_MESSAGE`; the transaction is then aborted.
   */
  abstract handled(messages: KqMessage | readonly KqMessage[]): void;
}
