import type { Topic } from '../api/topic.js';

/** A partition as a group sees it. Offsets are texts, as those of a `KqMessage`. */
export interface KqPartitionView {
  readonly partition: number;
  /** Of the first message that is still stored. */
  readonly first: string;
  /** After the last message that can be read. */
  readonly end: string;
  /** From where the group goes on; absent: it has committed nothing. */
  readonly committed?: string;
  /** How many offsets there are from there to the end; from the first message where nothing is committed. */
  readonly lag: number;
}

/** A topic of which a group has committed something. */
export interface KqGroupTopic {
  readonly topic: string;
  readonly lag: number;
  readonly partitions: readonly KqPartitionView[];
  /** Partitions without a leader, of which nobody knows the end; neither `partitions` nor `lag` has them. Absent: none. */
  readonly leaderless?: readonly number[];
}

/** What the brokers know of a group. */
export interface KqGroupView {
  readonly group: string;
  readonly lag: number;
  /** By name. None: there is no such group, or it has committed nothing. */
  readonly topics: readonly KqGroupTopic[];
}

/** What is paused or resumed of this process. */
export interface KqPauseChoice {
  /** @default all groups of this process */
  group?: string;
  /** @default all topics */
  topic?: string | Topic;
}

/**
 * Where a group is to go on: at the first message that is stored, behind the last one, at the first one of this time or
 * later, or for some partitions at an offset; the other partitions stay.
 */
export type KqSeekTarget = 'first' | 'last' | Date | Readonly<Record<number, number | bigint | string>>;

/**
 * For operators: what groups have handled, and how to stop them and set them back. Inject it. Calls that ask the brokers
 * reject with `KQ_AWAY` (after ten seconds for each question), `KQ_REFUSED` or `KQ_CLOSED`.
 */
export abstract class KqGroups {
  /** All topics by name, with how many partitions each has. */
  abstract topics(): Promise<readonly { readonly topic: string; readonly partitions: number }[]>;

  /**
   * How far a group is, of any process: what it has committed. Asks for one topic after the other. `KQ_UNKNOWN_TOPIC`.
   * @param topics Default: all that there are.
   */
  abstract group(group: string, topics?: readonly (string | Topic)[]): Promise<KqGroupView>;

  /**
   * In this process, begins no run and fetches nothing of what is chosen until `resume`; runs that go on are not awaited. The
   * process keeps its partitions, also over rebalances. A restart ends the pause, and other processes go on. Messages that
   * come back from nest-dq still run. `KQ_BAD_OPTION`: this process has no such group, or no handler of the topic in it.
   */
  abstract pause(choice?: KqPauseChoice): void;

  /** Ends pauses: without a topic also those of topics. A topic stays paused while its whole group is. As `pause`. */
  abstract resume(choice?: KqPauseChoice): void;

  /**
   * Lets a group go on from elsewhere in a topic. If this process is in the group, it finishes what runs (for at most
   * `shutdownTimeout`), leaves, sets the offsets and joins again. All of the partitions are set, or none.
   *
   * `KQ_GROUP_BUSY`: other processes are in the group; stop them first. `KQ_BAD_OPTION`: a wrong target, such as an offset that
   * is not stored; then nothing was done. `KQ_UNKNOWN_TOPIC`.
   * @returns By partition, the offsets that were set.
   */
  abstract seek(
    group: string,
    topic: string | Topic,
    target: { to: KqSeekTarget },
  ): Promise<Readonly<Record<number, string>>>;
}
