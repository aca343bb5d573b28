/** A client of a log: of Kafka brokers or of the log in this process. All drivers pass one conformance suite. */
import { KqError } from '../errors.js';
import type { Partitioner } from './partitioning.js';
import type { GroupOffset, LogMessage, OutgoingMessage, PartitionOffset, TopicPartition } from './message.js';

/** Nothing connects before it is used. */
export interface LogDriver {
  /** Creates a producer. Throws `KQ_CODEC` if the compression isn't available. */
  producer(options?: ProducerOptions): LogProducer;
  /** Creates a member of a group, which has joined once its `start` has resolved. */
  member(options: MemberOptions, handler: MemberHandler): LogMember;
  readonly admin: LogAdmin;
  /** Closes all producers, stops all members. Idempotent. */
  close(): Promise<void>;
}

/** The log in which a driver reports what an operator should know. */
export interface DriverLog {
  debug(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

export const PATIENCE = 30_000;

export interface ProducerOptions {
  /**
   * How long it retries while brokers are away, in ms. A request in flight at that point may add its own timeout.
   * @default 30_000
   */
  readonly patience?: number;
  /** Enables transactions. Beginning one ends an unfinished one of another producer with this id. @default no transactions */
  readonly transactionalId?: string;
  /** @default 'none' */
  readonly compression?: Compression;
  /** Chooses the partition of messages that name none. @default by key, like Java's client */
  readonly partitioner?: Partitioner | undefined;
  /** Approximate max bytes of one request; a larger message goes alone. @default 1_000_000 */
  readonly requestBytes?: number;
}

/** Codecs of record batches. */
export type Compression = 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd';

/** Where a message is stored, or why it isn't. */
export type Sent = PartitionOffset | KqError;

export interface LogProducer {
  /**
   * Stores messages of one topic on all in-sync replicas: those of a partition in the given order, exactly once each, in as few
   * requests as the brokers' limits allow. Messages of one partition are stored in the order of the calls; a message that no
   * broker accepts now doesn't block partitions of other brokers.
   *
   * Resolves with an answer for each message, in order, and never rejects. A message that is too large, or names a partition
   * that doesn't exist, fails alone: `KQ_TOO_LARGE`, `KQ_BAD_MESSAGE`. `KQ_UNKNOWN_TOPIC`, `KQ_REFUSED` and `KQ_CLOSED` mean
   * that nothing was stored. After `KQ_AWAY` nothing more of this call is sent to the partition; `indeterminate` says whether
   * the message may be stored.
   * @param answered Takes each answer as soon as it is known, if the driver knows some before others.
   */
  send(
    topic: string,
    messages: readonly OutgoingMessage[],
    answered?: (index: number, sent: Sent) => void,
  ): Promise<readonly Sent[]>;

  /**
   * Begins a transaction; the next one waits until this one has ended. Rejects with `KQ_AWAY`, `KQ_REFUSED`, `KQ_CLOSED`, or
   * `KQ_CONFIG` without a `transactionalId`.
   */
  transaction(): Promise<LogTransaction>;

  /** Waits for pending calls; an open transaction is aborted. Idempotent. */
  close(): Promise<void>;
}

/** Its messages become visible together, on commit. Once a call has rejected, only `abort` is allowed. */
export interface LogTransaction {
  /** Like `LogProducer.send`, but rejects as a whole, since the transaction then can't be committed. */
  send(topic: string, messages: readonly OutgoingMessage[]): Promise<readonly PartitionOffset[]>;
  /**
   * Commits these offsets for the member's group when the transaction commits. Rejects with `MemberLost` once the group has
   * rebalanced; the commit may, too. A new owner of the partitions waits for the end of the transaction.
   */
  sendOffsets(member: MemberIdentity, offsets: readonly GroupOffset[]): Promise<void>;
  /** Rejects with `KQ_TRANSACTION` if nothing is stored, `indeterminate` if that is unknown. */
  commit(): Promise<void>;
  /**
   * Discards everything sent; its offsets stay unused. Never rejects: if no broker answers, the brokers abort it on their own.
   */
  abort(): Promise<void>;
}

export interface MemberOptions {
  readonly group: string;
  /** A regular expression covers every topic it matches when the member starts. */
  readonly topics: readonly (string | RegExp)[];
  /**
   * Action if a name in `topics` doesn't exist: `refuse` makes `start` reject with `KQ_UNKNOWN_TOPIC`, `wait` joins without it.
   * After the first join a member always waits. @default 'refuse'
   */
  readonly missing?: 'refuse' | 'wait';
  /**
   * Where a group starts in a topic it has committed nothing in. `last` is committed at once, for all partitions, so that a
   * crash before the first commit loses nothing. Partitions added later start at their first message, as do those without a
   * leader, whose end is unknown.
   */
  readonly from: 'first' | 'last';
  /** Topics in which it starts at the first message regardless. @default none */
  readonly fromFirst?: ReadonlySet<string>;
  /** Time without a heartbeat after which the group considers a member dead, in ms. @default 30_000 */
  readonly sessionTimeout?: number;
  /** Heartbeat interval in ms; heartbeats also tell the member of a rebalance. @default a tenth of `sessionTimeout` */
  readonly heartbeatInterval?: number;
  /**
   * How long the group waits for its members at a rebalance, in ms. Current runs may end during `DRAIN_SHARE` of it.
   * @default 30_000
   */
  readonly rebalanceTimeout?: number;
  /**
   * Static name of this member, unique in the group at any time. If it comes back within `sessionTimeout`, it gets its
   * partitions back without a rebalance. @default none
   */
  readonly groupInstanceId?: string;
  /**
   * Returns the max bytes of one fetch of a partition; a larger message still comes. Ignored by a driver whose client has one
   * fixed limit. @default 1 MiB
   */
  readonly fetchBytes?: () => number;
}

export const SESSION_TIMEOUT = 30_000;
export const REBALANCE_TIMEOUT = 30_000;
/** The rest of `rebalanceTimeout` is left for the member to learn of the rebalance, commit and join. */
export const DRAIN_SHARE = 0.8;

/** A member between two rebalances. Other contents are private to the driver. */
export interface MemberIdentity {
  readonly group: string;
}

/** The error for offsets sent by a member that has lost its partitions, or may have. */
export class MemberLost extends KqError {
  constructor(group: string, cause?: unknown) {
    super('KQ_TRANSACTION', `the group ${group} has rebalanced`, { cause });
  }
}

/** Its driver fetches on its own and calls the handler. */
export interface LogMember {
  /**
   * Resolves once it has joined, after the first `assigned`; while no broker is reachable it waits, and reports that by
   * `failed`. Rejects with `KQ_UNKNOWN_TOPIC`, `KQ_REFUSED`, `KQ_CONFIG` or `KQ_CLOSED`. Called once.
   */
  start(): Promise<void>;
  /** Stops batches of this partition until `resume`. No effect on a partition that isn't assigned. */
  pause(topic: string, partition: number): void;
  resume(topic: string, partition: number): void;
  /**
   * Commits offsets of its own partitions, which they are until the promise of `rejoining` has resolved; others are skipped.
   * Resolves with false if nothing was committed because of a rebalance: `assigned` follows. Rejects with `KQ_AWAY` or
   * `KQ_REFUSED`, and may then be retried. One call at a time.
   */
  commit(offsets: readonly GroupOffset[]): Promise<boolean>;
  /** For `sendOffsets`, valid for as long as `commit` is; undefined while joining or out of the group. */
  readonly identity: MemberIdentity | undefined;
  /** Leaves, reports the error by `failed`, and joins as a new member: what isn't committed comes again. */
  rejoin(error: KqError): void;
  /**
   * Leaves the group; the handler isn't called after this call. Commits nothing. Idempotent.
   * @param returns The member has a `groupInstanceId` and will come back: the group keeps its partitions until its session
   * expires.
   */
  stop(returns?: boolean): Promise<void>;
}

/** A topic, or one of its partitions, that a member can't read now. Resumes on its own. */
export interface Unavailable {
  /** Topic name. */
  readonly topic: string;
  /** Absent for the whole topic. */
  readonly partition?: number;
  /** `unknown`: no such topic. `leaderless`: no broker leads the partition. `refused`: permission is missing. */
  readonly why: 'unknown' | 'leaderless' | 'refused';
}

/** Messages of one partition, ordered by offset. */
export interface LogBatch extends TopicPartition {
  /** May be empty: the rest up to `next` are gaps, from transactions and compaction. */
  readonly messages: readonly LogMessage[];
  /** The offset after the batch and its gaps. */
  readonly next: bigint;
  /** Offset after the last message of the partition, as reported by the broker. */
  readonly end: bigint;
  /**
   * Offsets before the batch that should have come and are no longer in the log. Absent if there are none, or if the client
   * doesn't report them (Confluent's).
   */
  readonly lost?: { readonly from: bigint; readonly to: bigint };
}

/** Called by a member. None of it may throw or reject; it returns at once, and slows the member down by `pause`. */
export interface MemberHandler {
  /**
   * The assignment is about to change or be confirmed: no batch comes until `assigned`, and nothing may start after the promise
   * has resolved. Then the member joins, at the latest after `DRAIN_SHARE` of `rebalanceTimeout`; until then it can commit and
   * stays in the group. So the handler resolves once nothing runs and everything is committed. If the partitions are lost
   * already, `failed` follows at once, nothing is committed, and the member doesn't wait.
   *
   * Called once before each `assigned`, and before a `failed` in between.
   */
  rejoining(): Promise<void>;
  /**
   * Each partition restarts, unpaused, at the offset the group has committed: what wasn't committed comes again.
   * @param continued For partitions that were assigned before, nobody else has handled messages in between.
   */
  assigned(assignment: readonly TopicPartition[], continued: boolean): void;
  batch(batch: LogBatch): void;
  /**
   * Reports which of its partitions and topics can't be read now; all others continue. Called each time the list changes; an
   * empty list means nothing is missing. @default not reported
   */
  unavailable?(places: readonly Unavailable[]): void;
  /**
   * It left the group or couldn't join: no partition is its own any more.
   * @param retryIn Delay in ms before it rejoins.
   */
  failed(error: KqError, retryIn: number): void;
  /**
   * The group has answered this member, and so won't reassign the partitions of the last `assigned` before this clock time,
   * which may be in the past already. Once it passes without another call, the process may have been blocked or cut off: nothing
   * new may start until the next call. A driver that never calls this can't lose its partitions without `rejoining`.
   */
  confirmed(until: number): void;
}

export interface TopicSettings {
  readonly topic: string;
  /** An existing topic to copy the numbers of partitions and replicas from, unless given. @default none */
  readonly like?: string;
  /** @default the brokers' */
  readonly partitions?: number;
  /** @default the brokers' */
  readonly replicas?: number;
  /** Kafka's topic settings, such as `cleanup.policy`. @default the brokers' */
  readonly config?: Readonly<Record<string, string>>;
}

/** The range of offsets with messages in a partition. */
export interface PartitionEnds {
  readonly partition: number;
  /** Offset of the first stored message. */
  readonly first: bigint;
  /** Offset after the last readable message; those of open transactions aren't readable. */
  readonly end: bigint;
}

/** Messages of a partition read outside of a group. */
export interface ReadMessages {
  readonly messages: readonly LogMessage[];
  /** Offset to continue at. */
  readonly next: bigint;
}

/** Every call rejects with `KQ_AWAY`, `KQ_REFUSED` or `KQ_CLOSED`, and calls with a topic also with `KQ_UNKNOWN_TOPIC`. */
export interface LogAdmin {
  /** Calls back as soon as a topic is created, until the returned function is called. Absent if the caller must poll. */
  watch?(created: () => void): () => void;
  /** Resolves with all topics by name, except Kafka's own. */
  topics(): Promise<readonly { readonly topic: string; readonly partitions: number }[]>;
  /** Resolves with the names of the topics it created; existing ones stay as they are. Also rejects with `KQ_CONFIG`. */
  createTopics(topics: readonly TopicSettings[]): Promise<readonly string[]>;
  /** Resolves with the ends of all partitions, in order. */
  ends(topic: string): Promise<readonly PartitionEnds[]>;
  /** Like `ends`, with undefined for a partition without a leader. `ends` waits for one, and rejects with `KQ_AWAY`. */
  endsOfLed(topic: string): Promise<readonly (PartitionEnds | undefined)[]>;
  /**
   * Resolves with the offset per partition of the first message at this time or later; its end if there is none. Waits for
   * partitions without a leader, and rejects with `KQ_AWAY`.
   * @param partitions @default all
   */
  offsetsAt(topic: string, time: number, partitions?: readonly number[]): Promise<readonly PartitionOffset[]>;
  /**
   * Resolves with the message at this offset; undefined if it isn't there (any more). Also rejects with `KQ_BAD_MESSAGE`: no
   * such partition.
   */
  read(topic: string, partition: number, offset: bigint): Promise<LogMessage | undefined>;
  /**
   * Resolves with messages from this offset on: at least one if there is one, otherwise at most `maxBytes`. Offsets below `next`
   * that aren't included hold no message (any more). May wait a second if there is nothing. Rejects like `read`.
   */
  readFrom(topic: string, partition: number, offset: bigint, maxBytes: number): Promise<ReadMessages>;
  /** Resolves with the offset per partition at which the group continues; undefined if it has committed none. */
  committed(
    group: string,
    topic: string,
  ): Promise<readonly { readonly partition: number; readonly offset: bigint | undefined }[]>;
  /** Moves a group to these offsets. Rejects with `KQ_GROUP_BUSY` while it has members. */
  setCommitted(group: string, topic: string, offsets: readonly PartitionOffset[]): Promise<void>;
}
