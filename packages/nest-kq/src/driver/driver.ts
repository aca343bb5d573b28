/** A client of a log: of Kafka's brokers, or of the one in this process. All drivers pass one conformance suite. */
import { KqError } from '../errors.js';
import type { Partitioner } from './partitioning.js';
import type { GroupOffset, LogMessage, OutgoingMessage, PartitionOffset, TopicPartition } from './message.js';

/** Nothing connects before it is used. */
export interface LogDriver {
  /** Throws `KQ_CODEC` where nothing can compress as it asks. */
  producer(options?: ProducerOptions): LogProducer;
  /** One member of a group, which has joined once its `start` has resolved. */
  member(options: MemberOptions, handler: MemberHandler): LogMember;
  readonly admin: LogAdmin;
  /** Closes all producers, stops all members. Idempotent. */
  close(): Promise<void>;
}

/** Where a driver tells what an operator should know. */
export interface DriverLog {
  debug(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

export const PATIENCE = 30_000;

export interface ProducerOptions {
  /**
   * How long it tries while brokers are away, in milliseconds. The request that is under way then may take its own
   * timeout more. @default 30_000
   */
  readonly patience?: number;
  /** A transaction ends one that another producer of this id has begun and not ended. @default no transactions */
  readonly transactionalId?: string;
  /** @default 'none' */
  readonly compression?: Compression;
  /** Of messages that name no partition. @default by the key as Java's client does it */
  readonly partitioner?: Partitioner | undefined;
  /** Bytes of one request at most, about; a larger message goes alone. @default 1_000_000 */
  readonly requestBytes?: number;
}

export type Compression = 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd';

/** Where a message is stored, or why it is not. */
export type Sent = PartitionOffset | KqError;

export interface LogProducer {
  /**
   * Stores messages of one topic, on all replicas in sync: those of a partition in the order given, once each, by as few
   * requests as the brokers' limits allow. Messages of one partition are stored in the order of the calls; one that no
   * broker takes now holds up no partition of another broker.
   *
   * Resolves with an answer for each message, in their order, and never rejects. A message which is too large, or asks for
   * a partition that is not there, fails alone: `KQ_TOO_LARGE`, `KQ_BAD_MESSAGE`. `KQ_UNKNOWN_TOPIC`, `KQ_REFUSED`
   * and `KQ_CLOSED` mean that nothing was stored. After `KQ_AWAY` nothing of this call is sent to this partition any more;
   * `indeterminate` says whether the message may be stored.
   * @param answered Gets each answer as soon as it is known, where the driver knows some of them before others.
   */
  send(
    topic: string,
    messages: readonly OutgoingMessage[],
    answered?: (index: number, sent: Sent) => void,
  ): Promise<readonly Sent[]>;

  /**
   * Begins a transaction; the next one waits until this one has ended. Rejects with `KQ_AWAY`, `KQ_REFUSED`, `KQ_CLOSED`,
   * or `KQ_CONFIG` without a `transactionalId`.
   */
  transaction(): Promise<LogTransaction>;

  /** Waits for what is under way; a transaction that has not ended is aborted. Idempotent. */
  close(): Promise<void>;
}

/** Its messages are seen once all are: after its commit. Once a call has rejected, only `abort` is left. */
export interface LogTransaction {
  /** As a producer's `send`, but rejects as a whole, as the transaction then cannot be committed. */
  send(topic: string, messages: readonly OutgoingMessage[]): Promise<readonly PartitionOffset[]>;
  /**
   * With the commit, the group of this member has committed these offsets. Rejects with `MemberLost` once the group has
   * been shared out anew; the commit may do so, too. Who gets the partitions meanwhile waits for the end of the transaction.
   */
  sendOffsets(member: MemberIdentity, offsets: readonly GroupOffset[]): Promise<void>;
  /** Rejects with `KQ_TRANSACTION` if nothing is stored, `indeterminate` if that is not known. */
  commit(): Promise<void>;
  /** What was sent is never seen; its offsets stay unused. Never rejects: if no broker answers, they abort it by themselves. */
  abort(): Promise<void>;
}

export interface MemberOptions {
  readonly group: string;
  /** A regular expression means every topic which it matches when the member starts. */
  readonly topics: readonly (string | RegExp)[];
  /**
   * What becomes of a name in `topics` without a topic: `refuse` has `start` reject with `KQ_UNKNOWN_TOPIC`, `wait` joins
   * without it. A member that has joined once does the same when it joins again. @default 'refuse'
   */
  readonly missing?: 'refuse' | 'wait';
  /**
   * Where a group begins in a topic of which it has committed nothing yet. `last` is committed at once, for all partitions,
   * so that a crash before the first commit loses nothing. Partitions that are added later begin at their first message, and
   * so do those without a leader, whose end nobody knows.
   */
  readonly from: 'first' | 'last';
  /** Topics in which it begins at the first message all the same. @default none */
  readonly fromFirst?: ReadonlySet<string>;
  /** After how long without a sign of life the group takes a member for dead, in milliseconds. @default 30_000 */
  readonly sessionTimeout?: number;
  /** How often the member gives that sign, and so learns of a rebalance, in milliseconds. @default a tenth of `sessionTimeout` */
  readonly heartbeatInterval?: number;
  /**
   * How long the group waits for its members at a rebalance, in milliseconds. What runs may end during `DRAIN_SHARE` of it.
   * @default 30_000
   */
  readonly rebalanceTimeout?: number;
  /**
   * A name of this member that no other one of the group has at a time. If it comes back within `sessionTimeout`, it has its
   * partitions again, without a rebalance. @default none
   */
  readonly groupInstanceId?: string;
  /**
   * Max bytes that one fetch of a partition should bring now; a message that is larger comes all the same. A driver whose client
   * has one limit for good ignores it. @default 1 MiB
   */
  readonly fetchBytes?: () => number;
}

export const SESSION_TIMEOUT = 30_000;
export const REBALANCE_TIMEOUT = 30_000;
/** The rest of `rebalanceTimeout` is for the member to learn of the rebalance, to commit, and to join. */
export const DRAIN_SHARE = 0.8;

/** A member between two rebalances. What else is in it is its driver's own. */
export interface MemberIdentity {
  readonly group: string;
}

/** Of offsets that a member sends which has lost its partitions, or may have. */
export class MemberLost extends KqError {
  constructor(group: string, cause?: unknown) {
    super('KQ_TRANSACTION', `the group ${group} has been shared out anew`, { cause });
  }
}

/** Its driver fetches by itself, and calls the handler. */
export interface LogMember {
  /**
   * Resolves once it has joined, after the first `assigned`; while no broker is in reach it waits, and tells that by
   * `failed`. Rejects with `KQ_UNKNOWN_TOPIC`, `KQ_REFUSED`, `KQ_CONFIG` or `KQ_CLOSED`. It is called once.
   */
  start(): Promise<void>;
  /** No `batch` of this partition comes until `resume`. Without effect on a partition that is not assigned. */
  pause(topic: string, partition: number): void;
  resume(topic: string, partition: number): void;
  /**
   * Commits offsets of partitions that are its own, which they are until the promise of `rejoining` has resolved; others are
   * left out. Resolves with false where nothing was committed because a rebalance came between: `assigned` follows. Rejects
   * with `KQ_AWAY` or `KQ_REFUSED`; then it may be tried again. One call at a time.
   */
  commit(offsets: readonly GroupOffset[]): Promise<boolean>;
  /** For `sendOffsets`, for as long as `commit` commits; undefined: it joins, or is not in the group. */
  readonly identity: MemberIdentity | undefined;
  /** Leaves, tells the error by `failed`, and joins as a new member: what is not committed comes again. */
  rejoin(error: KqError): void;
  /**
   * Leaves the group; no call of the handler comes after this call. It commits nothing by itself. Idempotent.
   * @param returns One with a `groupInstanceId` comes back: the group keeps its partitions for it until its session is over.
   */
  stop(returns?: boolean): Promise<void>;
}

/** A topic, or one of its partitions, of which a member gets nothing now. It goes on by itself. */
export interface Unavailable {
  readonly topic: string;
  /** Absent: the whole topic. */
  readonly partition?: number;
  /** `unknown`: there is no such topic. `leaderless`: no broker leads the partition. `refused`: the right is missing. */
  readonly why: 'unknown' | 'leaderless' | 'refused';
}

/** Messages of one partition, in the order of their offsets. */
export interface LogBatch extends TopicPartition {
  /** May be empty: what is left below `next` are gaps, by transactions and compaction. */
  readonly messages: readonly LogMessage[];
  /** The offset after the batch and its gaps. */
  readonly next: bigint;
  /** The offset after the last message of the partition, as the broker had it. */
  readonly end: bigint;
  /** Offsets before it that should have come, and that the log does not have any more. Absent: none, or the client does not tell (Confluent's). */
  readonly lost?: { readonly from: bigint; readonly to: bigint };
}

/** What a member calls. None of it may throw or reject; it returns at once, and slows the member by `pause`. */
export interface MemberHandler {
  /**
   * The assignment is about to change, or to be confirmed: no batch comes until `assigned`, and nothing may begin after the
   * promise has resolved. Then the member joins, at the latest after `DRAIN_SHARE` of `rebalanceTimeout`; until then it
   * commits, and stays in the group. So the handler resolves once nothing runs and all is committed. Where the partitions are
   * lost already, `failed` follows at once, nothing is committed, and the member doesn't wait.
   *
   * Called once before each `assigned`, also before a `failed` that comes in between.
   */
  rejoining(): Promise<void>;
  /**
   * Nothing is paused now, and each partition goes on from the offset which the group has committed: what was not committed
   * comes again.
   * @param continued In a partition that was assigned before too, nobody else has handled messages in between.
   */
  assigned(assignment: readonly TopicPartition[], continued: boolean): void;
  batch(batch: LogBatch): void;
  /**
   * Of these nothing comes now, while all others go on: of the partitions that it has, and of its topics. Called each time
   * that the list changes; an empty one: nothing is missing any more. @default not told
   */
  unavailable?(places: readonly Unavailable[]): void;
  /**
   * It has left the group, or could not join: no partition is its own any more.
   * @param retryIn Milliseconds after which it joins again by itself.
   */
  failed(error: KqError, retryIn: number): void;
  /**
   * The group has answered this member, and so gives the partitions of the last `assigned` to nobody else before this time of
   * the clock, which may be past already. Once it is past without another call, the process may have stood still, or be cut
   * off: nothing new may begin until the next call.
   * A driver that never calls it can't lose its partitions without `rejoining`.
   */
  confirmed(until: number): void;
}

export interface TopicSettings {
  readonly topic: string;
  /** A topic with as many partitions and replicas, as far as these are not given and it is there. @default none */
  readonly like?: string;
  /** @default the brokers' */
  readonly partitions?: number;
  /** @default the brokers' */
  readonly replicas?: number;
  /** Kafka's settings of a topic, such as `cleanup.policy`. @default the brokers' */
  readonly config?: Readonly<Record<string, string>>;
}

/** The offsets of a partition from which and up to which there are messages. */
export interface PartitionEnds {
  readonly partition: number;
  /** Of the first message that is still stored. */
  readonly first: bigint;
  /** After the last one that can be read: those of transactions which have not ended cannot. */
  readonly end: bigint;
}

/** Messages of a partition that no member has read. */
export interface ReadMessages {
  readonly messages: readonly LogMessage[];
  /** The offset to go on with. */
  readonly next: bigint;
}

/** Every call rejects with `KQ_AWAY`, `KQ_REFUSED` or `KQ_CLOSED`, and those with a topic with `KQ_UNKNOWN_TOPIC`. */
export interface LogAdmin {
  /** Calls back at once when a topic is created, until the returned function is called. Absent: ask again and again. */
  watch?(created: () => void): () => void;
  /** All topics by name, without those of Kafka itself. */
  topics(): Promise<readonly { readonly topic: string; readonly partitions: number }[]>;
  /** Resolves with the names of those it created; one that exists stays as it is. Rejects with `KQ_CONFIG`, too. */
  createTopics(topics: readonly TopicSettings[]): Promise<readonly string[]>;
  /** By partition, in order. */
  ends(topic: string): Promise<readonly PartitionEnds[]>;
  /** The same, undefined for a partition without a leader. `ends` waits for one, and rejects with `KQ_AWAY`. */
  endsOfLed(topic: string): Promise<readonly (PartitionEnds | undefined)[]>;
  /**
   * For each partition, the offset of the first message of this time or later; its end if there is none. Where one of them has
   * no leader, it waits for one, and rejects with `KQ_AWAY`.
   * @param partitions @default all
   */
  offsetsAt(topic: string, time: number, partitions?: readonly number[]): Promise<readonly PartitionOffset[]>;
  /** The message at this offset; undefined if it is not there, or not any more. Also rejects with `KQ_BAD_MESSAGE`: no such partition. */
  read(topic: string, partition: number, offset: bigint): Promise<LogMessage | undefined>;
  /**
   * Messages from this offset on: at least one if there is one, and otherwise not more than these bytes; what lies below `next`
   * and is not among them is no message, or not any more. It may wait a second where nothing is. Rejects as `read`.
   */
  readFrom(topic: string, partition: number, offset: bigint, maxBytes: number): Promise<ReadMessages>;
  /** For each partition, the offset from which the group goes on; undefined where it has committed none. */
  committed(
    group: string,
    topic: string,
  ): Promise<readonly { readonly partition: number; readonly offset: bigint | undefined }[]>;
  /** Lets a group go on from there. Rejects with `KQ_GROUP_BUSY` while it has members. */
  setCommitted(group: string, topic: string, offsets: readonly PartitionOffset[]): Promise<void>;
}
