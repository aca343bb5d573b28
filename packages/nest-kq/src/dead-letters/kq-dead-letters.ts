import type { Topic } from '../api/topic.js';
import type { Headers } from '../driver/message.js';
import type { KqError } from '../errors.js';

/** The position of a letter in its dead letter topic. */
export interface KqDeadLetterRef {
  /** Partition of the dead letter topic, from 0. */
  readonly partition: number;
  /** Offset in that partition; a string has decimal digits. */
  readonly offset: string | number | bigint;
}

/** Selects letters that match every given field. */
export interface KqDeadLetterFilter {
  /** A substring of the error's name or message, in upper or lower case. */
  error?: string;
  /** The original topic of the message. */
  topic?: string | Topic;
  /** The group that couldn't handle it. */
  group?: string;
  /** The key of the message. */
  key?: string;
  /** Died at this time or later. */
  from?: Date;
  /** Died before this time. */
  to?: Date;
}

/** A dead letter in a list. */
export interface KqDeadLetterSummary {
  /** Together with `offset`, the position of the letter. */
  readonly partition: number;
  /** Offset in that partition, in decimal digits. */
  readonly offset: string;
  /** The original position of the message. */
  readonly origin: { readonly topic: string; readonly partition?: number; readonly offset?: string };
  /** The group that couldn't handle it. */
  readonly group?: string;
  /** The key as UTF-8, or null if there is none. */
  readonly key: string | null;
  /** When it became a dead letter. */
  readonly diedAt: Date;
  /** `attempts`, `notRetried`, `discarded` or `unreadable`. */
  readonly why?: string;
  /** Number of runs. */
  readonly attempts?: number;
  /** The error of its last run. */
  readonly error: { readonly name: string; readonly message: string };
  /** Size of its value in bytes; 0 for a tombstone. */
  readonly valueBytes: number;
}

/** A complete dead letter. */
export interface KqDeadLetter extends KqDeadLetterSummary {
  /** The error of its last run, with its stack. */
  readonly error: { readonly name: string; readonly message: string; readonly stack: string };
  /** Null for a tombstone. */
  readonly value: Buffer | null;
  /** Headers of the message itself. */
  readonly headers: Headers;
  /** The message's own timestamp, in ms since 1970. */
  readonly timestamp?: number;
  /** Whether it was replayed or discarded. */
  readonly resolved: boolean;
}

/** A page of letters that are neither replayed nor discarded, newest first. */
export interface KqDeadLetterPage {
  /** With a filter, or if many are resolved, there may be fewer than `limit`, even none, and still a `cursor`. */
  readonly letters: readonly KqDeadLetterSummary[];
  /** Absent on the last page. */
  readonly cursor?: string;
  /**
   * Partitions without a leader, whose letters are missing here; a later page includes them if they can be read by then. Absent
   * if none is missing.
   */
  readonly leaderless?: readonly number[];
}

/** Options of `KqDeadLetters.list`. */
export interface KqDeadLetterListOptions {
  /** @default all */
  filter?: KqDeadLetterFilter;
  /** 1 to 1,000. @default 50 */
  limit?: number;
  /** The cursor of the previous page. @default at the newest letter */
  cursor?: string;
}

/** Options of `KqDeadLetters.discard`. */
export interface KqDiscardOptions {
  /** Only counts, and returns some examples. @default false */
  dryRun?: boolean;
  /** Max letters, the oldest of each partition first. @default no limit */
  limit?: number;
}

/** Options of `KqDeadLetters.replay`. */
export interface KqReplayOptions extends KqDiscardOptions {
  /**
   * `'all'`: every group of the topic gets the message again. `'failed'`: among groups of nest-kq, only the one that couldn't
   * handle it, by the header `kq-for`; consumers of other libraries see the message regardless. @default 'all'
   */
  groups?: 'all' | 'failed';
}

/** The result of a replay or discard. */
export interface KqDeadLettersResult {
  /** Number of letters resolved; in a dry run, the number that would be. */
  readonly count: number;
  /** Number of letters that couldn't be replayed, and remain. */
  readonly failed: number;
  /** The first 10 failures. */
  readonly failures: readonly {
    readonly partition: number;
    readonly offset: string;
    readonly error: KqError;
  }[];
  /** Up to 5 of the letters found. */
  readonly examples: readonly KqDeadLetterSummary[];
  /** Partitions without a leader, whose letters were skipped, and remain. Absent if none was skipped. */
  readonly leaderless?: readonly number[];
}

/**
 * For operators: the dead letters of a topic. Inject it. A topic can't delete a single message, so a replayed or discarded
 * letter remains until retention removes it, and a record after it marks it as resolved. Calls reject with `KQ_UNKNOWN_TOPIC`,
 * `KQ_BAD_OPTION`, `KQ_AWAY`, `KQ_REFUSED` or `KQ_CLOSED`. `topic` is the dead letter topic, such as `orders.shop.kq-dead`, the
 * default of the group `shop`. Calls on all partitions skip and list those without a leader; `KQ_AWAY` if none has one.
 */
export abstract class KqDeadLetters {
  /**
   * Resolves with the names of dead letter topics: those created by nest-kq for any group (`….kq-dead`), and those that handlers
   * of this process name or chose by an error. Doesn't check whether they have letters.
   */
  abstract topics(): Promise<readonly string[]>;

  /** Resolves with one page. Reads at most about 64 MiB. */
  abstract list(topic: string | Topic, options?: KqDeadLetterListOptions): Promise<KqDeadLetterPage>;

  /**
   * Resolves with one letter, even a resolved one; undefined if it doesn't exist, or no longer does. `KQ_AWAY`: its partition
   * has no leader.
   */
  abstract get(topic: string | Topic, ref: KqDeadLetterRef): Promise<KqDeadLetter | undefined>;

  /**
   * Stores messages again in their original topics, with their original key, value and headers. A letter is resolved once its
   * message is stored: a crash in between may store it twice, but loses none. Letters that arrive meanwhile remain.
   *
   * A letter that can't be stored, for example because of `KQ_UNKNOWN_TOPIC` or because its message's partition has no leader,
   * remains and is reported in `failures`. May also reject with `KQ_AWAY` midway; another call then continues with the rest.
   * @param which One letter, or all that match a filter: `{}` matches all.
   */
  abstract replay(
    topic: string | Topic,
    which: KqDeadLetterRef | KqDeadLetterFilter,
    options?: KqReplayOptions,
  ): Promise<KqDeadLettersResult>;

  /** Discards letters for good. `which`: see `replay`. */
  abstract discard(
    topic: string | Topic,
    which: KqDeadLetterRef | KqDeadLetterFilter,
    options?: KqDiscardOptions,
  ): Promise<KqDeadLettersResult>;
}
