import type { Topic } from '../api/topic.js';
import type { Headers } from '../driver/message.js';
import type { KqError } from '../errors.js';

/** The place of a letter in its dead letter topic. */
export interface KqLetterRef {
  readonly partition: number;
  readonly offset: string | number | bigint;
}

/** Which letters are meant: those that meet every field. */
export interface KqLetterFilter {
  /** A part of the error's name or message. */
  error?: string;
  /** The topic in which the message was. */
  topic?: string | Topic;
  /** The group that could not handle it. */
  group?: string;
  /** The key of the message. */
  key?: string;
  /** Died at this time or later. */
  from?: Date;
  /** Died before this time. */
  to?: Date;
}

/** A dead letter in a list. */
export interface KqLetterSummary {
  /** With `offset`: where the letter is. */
  readonly partition: number;
  readonly offset: string;
  /** Where the message was. */
  readonly origin: { readonly topic: string; readonly partition?: number; readonly offset?: string };
  /** The group that could not handle it. */
  readonly group?: string;
  /** As UTF-8; null: it has none. */
  readonly key: string | null;
  readonly diedAt: Date;
  /** `attempts`, `notRetried`, `discarded` or `unreadable`. */
  readonly why?: string;
  /** The runs that it had. */
  readonly attempts?: number;
  readonly error: { readonly name: string; readonly message: string };
  readonly valueBytes: number;
}

/** A dead letter as a whole. */
export interface KqDeadLetter extends KqLetterSummary {
  readonly error: { readonly name: string; readonly message: string; readonly stack: string };
  /** Null: a tombstone. */
  readonly value: Buffer | null;
  /** Those of the message itself. */
  readonly headers: Headers;
  /** The message's own time, in milliseconds since 1970. */
  readonly timestamp?: number;
  /** It was replayed or discarded. */
  readonly resolved: boolean;
}

/** Letters that are neither replayed nor discarded, the newest first. */
export interface KqLetterPage {
  /** With a filter, or where many are resolved, there may be fewer than `limit`, or none, and still a `cursor`. */
  readonly letters: readonly KqLetterSummary[];
  /** Absent: there are no more. */
  readonly cursor?: string;
  /**
   * Partitions without a leader, whose letters are missing here: a later page has them if they can be read by then. Absent: none
   * is missing.
   */
  readonly leaderless?: readonly number[];
}

/** Options of `KqDeadLetters.list`. */
export interface KqLetterListOptions {
  /** @default all */
  filter?: KqLetterFilter;
  /** 1 to 1,000. @default 50 */
  limit?: number;
  /** Where the page before ended. @default at the newest letter */
  cursor?: string;
}

/** Options of `KqDeadLetters.discard`. */
export interface KqDiscardOptions {
  /** Only counts, and shows some. @default false */
  dryRun?: boolean;
  /** At most this many, the oldest of each partition first. @default no limit */
  limit?: number;
}

/** Options of `KqDeadLetters.replay`. */
export interface KqReplayOptions extends KqDiscardOptions {
  /**
   * `'all'`: every group of the topic gets the message again. `'failed'`: of the groups of nest-kq only the one that could not
   * handle it, by the header `kq-for`; consumers of other libraries see the message all the same. @default 'all'
   */
  groups?: 'all' | 'failed';
}

/** What became of the letters. */
export interface KqLettersDone {
  /** Letters that are resolved now; in a dry run, that would be. */
  readonly count: number;
  /** Letters that could not be replayed, and stay. */
  readonly failed: number;
  /** The first 10 of them. */
  readonly failures: readonly {
    readonly partition: number;
    readonly offset: string;
    readonly error: KqError;
  }[];
  /** Up to 5 of the letters that were found. */
  readonly examples: readonly KqLetterSummary[];
  /** Partitions without a leader, whose letters were left out, and stay. Absent: none was left out. */
  readonly leaderless?: readonly number[];
}

/**
 * For operators: the dead letters of a topic. Inject it. A topic cannot delete one message, so a letter that was replayed or
 * discarded stays until the topic forgets it, and a record behind it says that it is resolved. Calls reject with
 * `KQ_UNKNOWN_TOPIC`, `KQ_BAD_OPTION`, `KQ_AWAY`, `KQ_REFUSED` or `KQ_CLOSED`. The topic is that of the letters, such as
 * `orders.shop.kq-dead`, the default of the group `shop`. What concerns all of its partitions leaves out those without a leader,
 * and names them; it is `KQ_AWAY` where none has one.
 */
export abstract class KqDeadLetters {
  /**
   * Topics of dead letters, by name: those that nest-kq has made for any group (`….kq-dead`), and those that handlers of this
   * process name, or chose by an error. It doesn't read whether they have letters.
   */
  abstract topics(): Promise<readonly string[]>;

  /** One page. It reads at most some 64 MiB. */
  abstract list(topic: string | Topic, options?: KqLetterListOptions): Promise<KqLetterPage>;

  /** One letter, also if it is resolved. Undefined: there is none, or not any more. `KQ_AWAY`: its partition has no leader. */
  abstract get(topic: string | Topic, ref: KqLetterRef): Promise<KqDeadLetter | undefined>;

  /**
   * Stores messages again in the topics where they were, with key, value and headers as before. A letter is resolved once its
   * message is stored: after a crash in between it may come twice, and none is lost. Letters that come meanwhile stay.
   *
   * A letter that cannot be stored, such as for `KQ_UNKNOWN_TOPIC`, or since the partition of its message has no leader, stays
   * and is told in `failures`. Rejects with `KQ_AWAY` in the middle, too: then another call goes on with the rest.
   * @param which One letter, or all that match a filter: `{}` means all.
   */
  abstract replay(
    topic: string | Topic,
    which: KqLetterRef | KqLetterFilter,
    options?: KqReplayOptions,
  ): Promise<KqLettersDone>;

  /** Gives letters up for good. `which`: as for `replay`. */
  abstract discard(
    topic: string | Topic,
    which: KqLetterRef | KqLetterFilter,
    options?: KqDiscardOptions,
  ): Promise<KqLettersDone>;
}
