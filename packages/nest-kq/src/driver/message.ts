/** What the brokers store, and where. */

/** By name, the values in the order in which they were given. */
export type Headers = Readonly<Record<string, Buffer | readonly Buffer[]>>;

/** A message that is to be stored. */
export interface OutgoingMessage {
  /** Messages of one key go to one partition. Null: no key. */
  readonly key: Buffer | null;
  /** Null: a tombstone, after which a compacted topic forgets the key. */
  readonly value: Buffer | null;
  /** @default none */
  readonly headers?: Headers;
  /** @default by the key as Java's client does it; without a key, one after the other, all of one `send` alike */
  readonly partition?: number;
  /** Milliseconds since 1970. @default when it is sent */
  readonly timestamp?: number;
}

/** A message as the log has it. */
export interface LogMessage {
  readonly offset: bigint;
  /** Milliseconds since 1970: its producer's, or the broker's where the topic says so. */
  readonly timestamp: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  /** A name with one value has the value itself, a name with several has their list. */
  readonly headers: Headers;
}

export interface TopicPartition {
  readonly topic: string;
  readonly partition: number;
}

/** A place in a topic of which the reader knows. */
export interface PartitionOffset {
  readonly partition: number;
  readonly offset: bigint;
}

/** For a group: `offset` is that of the next message which it has to handle. */
export interface GroupOffset extends TopicPartition {
  readonly offset: bigint;
}
