import type { DelayedPush, LaterOptions, MessageOptions, Pushed, PushResult } from '../api/message.js';
import type { KqMessage } from '../api/received.js';
import type { Topic } from '../api/topic.js';

/**
 * Puts messages into topics. Inject it.
 *
 * A message is stored once, on all replicas in sync, when its push resolves. What is pushed while a request is on its way goes
 * with the next one, so do not await each push where many callers push, or one has many messages.
 *
 * A push may reject with `KQ_BAD_TOPIC`, `KQ_BAD_MESSAGE`, `KQ_TOO_LARGE`, `KQ_UNKNOWN_TOPIC`, `KQ_REFUSED`, `KQ_CLOSED`,
 * `KQ_FULL` (too many messages wait for their answer), `KQ_REGISTRY` (the schema registry of the topic's format has no answer)
 * or `KQ_AWAY` (no broker answered in time; see `indeterminate`). Only after an `indeterminate` one the message may be stored.
 */
export abstract class KqPusher {
  /**
   * Messages of a topic that have the same key are stored in the order of the calls.
   * @param value As the topic's format has it, by default JSON. Null: a tombstone.
   */
  abstract push<In = unknown>(
    topic: string | Topic<In>,
    value: NoInfer<In> | null,
    options?: MessageOptions,
  ): Promise<Pushed>;
  /**
   * With `delay` or `at` the message waits in nest-dq, which pushes it then: at least once, and not before. It resolves when
   * the job is stored. It needs `KqDqModule` of `nest-kq/dq`, else it is `KQ_CONFIG`; also `KQ_BAD_MESSAGE`: no duration or
   * instant; `KQ_TOO_LARGE`: more than a job takes; `KQ_AWAY`: too few nodes of nest-dq answer.
   */
  abstract push<In = unknown>(
    topic: string | Topic<In>,
    value: NoInfer<In> | null,
    options: LaterOptions,
  ): Promise<DelayedPush>;

  /**
   * Returns a result for each message, in their order, and does not reject when some of them fail. It rejects, before
   * anything is stored, when the topic is wrong or `messages` is no iterable of objects. It may be of any length: it waits
   * for room instead of `KQ_FULL`, and leaves half of the room to others. A push of the same topic that does not wait for
   * it may come in between.
   */
  abstract pushMany<In = unknown>(
    topic: string | Topic<In>,
    messages: Iterable<MessageOptions & { readonly value: NoInfer<In> | null }>,
  ): Promise<PushResult[]>;

  /** Resolves once all that was pushed before is stored, or has failed. Never rejects. */
  abstract flush(): Promise<void>;

  /**
   * Stores all messages of `work` or none: they are seen once it has returned and the transaction is committed. The next
   * transaction waits until this one has ended, for all of this pusher.
   *
   * It resolves with what `work` returns. When `work` throws, or one of its pushes fails, it aborts the transaction, and
   * rejects with that error. `KQ_TRANSACTION`: it cannot be committed (if that is not known, `indeterminate`), or it began
   * inside another transaction of this pusher, for which it would wait for ever. `KQ_CONFIG`: the pusher has no
   * `transactionalId`. Also `KQ_AWAY`, `KQ_REFUSED` and `KQ_CLOSED`.
   */
  abstract transaction<T>(work: (tx: KqTransaction) => Promise<T>): Promise<T>;
}

/** What is pushed within a transaction. After it, every call is `KQ_TRANSACTION`. */
export abstract class KqTransaction {
  /** As a pusher's. If it fails, the transaction is aborted, whether the push is awaited or not. */
  abstract push<In = unknown>(
    topic: string | Topic<In>,
    value: NoInfer<In> | null,
    options?: MessageOptions,
  ): Promise<Pushed>;

  /** Rejects as a whole, as the transaction is then aborted. Resolves in the order of the messages. */
  abstract pushMany<In = unknown>(
    topic: string | Topic<In>,
    messages: Iterable<MessageOptions & { readonly value: NoInfer<In> | null }>,
  ): Promise<Pushed[]>;

  /**
   * With the commit, these messages count as handled, and what the transaction pushes is stored: both, or neither. It takes
   * the message that a handler got, or those of its batch from the first one on, and needs `order: 'partition'`.
   *
   * If another process has got the partition meanwhile, the commit is `KQ_TRANSACTION`. After the commit, the message does
   * not run again, whatever its handler says. Throws `KQ_CONFIG` (another order, another cluster, a message that came
   * back through nest-dq) or `KQ_BAD_MESSAGE`; then the transaction is aborted.
   */
  abstract handled(messages: KqMessage | readonly KqMessage[]): void;
}
