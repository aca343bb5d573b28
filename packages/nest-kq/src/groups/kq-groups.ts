import type { Topic } from '../api/topic.js';

/** A partition as a group sees it. Offsets are strings, as in `KqMessage`. */
export interface KqPartitionView {
  /** Partition number, from 0. */
  readonly partition: number;
  /** Offset of the first stored message. */
  readonly first: string;
  /** Offset after the last readable message. */
  readonly end: string;
  /** Offset at which the group continues; absent if it has committed nothing. */
  readonly committed?: string;
  /** Number of offsets from there to the end, or from the first message if nothing is committed. */
  readonly lag: number;
}

/** A topic in which a group has committed something. */
export interface KqGroupTopic {
  /** Topic name. */
  readonly topic: string;
  /** Sum over its partitions. */
  readonly lag: number;
  /** Partitions with a leader, by number. */
  readonly partitions: readonly KqPartitionView[];
  /** Partitions without a leader, whose end is unknown; not included in `partitions` or `lag`. Absent if there are none. */
  readonly leaderless?: readonly number[];
}

/** A group as the brokers see it. */
export interface KqGroupView {
  /** Group name. */
  readonly group: string;
  /** Sum over its topics. */
  readonly lag: number;
  /** By name. Empty if there is no such group, or it has committed nothing. */
  readonly topics: readonly KqGroupTopic[];
}

/** Groups and topics to pause or resume in this process. */
export interface KqPauseChoice {
  /** @default all groups of this process */
  group?: string;
  /** @default all topics */
  topic?: string | Topic;
}

/**
 * Where a group continues: at the first stored message, after the last one, at the first one of this time or later, or, for some
 * partitions, at an offset; the other partitions stay.
 */
export type KqSeekTarget = 'first' | 'last' | Date | Readonly<Record<number, number | bigint | string>>;

/**
 * For operators: shows what groups have handled, pauses them and moves them. Inject it. Calls that ask the brokers reject with
 * `KQ_AWAY` (after ten seconds per request), `KQ_REFUSED` or `KQ_CLOSED`.
 */
export abstract class KqGroups {
  /** Resolves with all topics by name, and their numbers of partitions. */
  abstract topics(): Promise<readonly { readonly topic: string; readonly partitions: number }[]>;

  /**
   * Resolves with the committed offsets of a group, of any process. Queries one topic after the other. `KQ_UNKNOWN_TOPIC`.
   * @param topics Default: all existing topics.
   */
  abstract group(group: string, topics?: readonly (string | Topic)[]): Promise<KqGroupView>;

  /**
   * Starts no run and fetches nothing of the choice in this process until `resume`; current runs continue. The process keeps its
   * partitions, even across rebalances. A restart ends the pause, and other processes are unaffected. Messages that come back
   * from nest-dq still run. `KQ_BAD_OPTION`: this process has no such group, or no handler of the topic in it.
   */
  abstract pause(choice?: KqPauseChoice): void;

  /** Ends pauses; without a topic also those of topics. A topic stays paused while its whole group is. Errors as for `pause`. */
  abstract resume(choice?: KqPauseChoice): void;

  /**
   * Moves a group to another position in a topic. If this process is in the group, it finishes current runs (for at most
   * `shutdownTimeout`), leaves, sets the offsets and rejoins. Sets all partitions with a leader, or none; with a map of offsets, only those
   * it names. The log names the partitions that were left out.
   *
   * `KQ_GROUP_BUSY`: other processes are in the group; stop them first. `KQ_BAD_OPTION`: a wrong target, such as an offset that
   * isn't stored; nothing was done. `KQ_UNKNOWN_TOPIC`.
   * @returns The offsets that were set, by partition.
   */
  abstract seek(
    group: string,
    topic: string | Topic,
    target: { to: KqSeekTarget },
  ): Promise<Readonly<Record<number, string>>>;
}
