/** Messages as the brokers store them, and their positions. */

/** Values by name, in the order given. */
export type Headers = Readonly<Record<string, Buffer | readonly Buffer[]>>;

/** Returns headers as a handler gets them, without a prototype, since any name may occur. A missing value becomes empty. */
export function headersOf(pairs: Iterable<readonly [name: string, value: Buffer | null]>): Headers {
  const headers = Object.create(null) as Record<string, Buffer | Buffer[]>;
  for (const [name, given] of pairs) {
    const value = given ?? Buffer.alloc(0);
    const before = headers[name];
    if (before === undefined) headers[name] = value;
    else if (Array.isArray(before)) before.push(value);
    else headers[name] = [before, value];
  }
  return headers;
}

/** Returns each value with its name, as a log stores them. */
export function pairsOf(headers: Headers): (readonly [name: string, value: Buffer])[] {
  const pairs: (readonly [string, Buffer])[] = [];
  for (const name in headers) {
    const values = headers[name]!;
    if (Buffer.isBuffer(values)) pairs.push([name, values]);
    else for (const value of values) pairs.push([name, value]);
  }
  return pairs;
}

/** A message to store. */
export interface OutgoingMessage {
  /** Messages with the same key go to one partition. Null for no key. */
  readonly key: Buffer | null;
  /** Null for a tombstone, after which a compacted topic drops the key. */
  readonly value: Buffer | null;
  /** @default none */
  readonly headers?: Headers;
  /** Partition. @default by key, like Java's client; without a key, round-robin per `send` */
  readonly partition?: number;
  /** In ms since 1970. @default the time it is sent */
  readonly timestamp?: number;
}

/** A stored message. */
export interface LogMessage {
  readonly offset: bigint;
  /** In ms since 1970, set by the producer, or by the broker if the topic is configured that way. */
  readonly timestamp: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  /** By name: the value itself, or a list if there are several. */
  readonly headers: Headers;
}

export interface TopicPartition {
  readonly topic: string;
  readonly partition: number;
}

/** A position in a partition of a known topic. */
export interface PartitionOffset {
  readonly partition: number;
  readonly offset: bigint;
}

/** An offset for a group: of the next message it has to handle. */
export interface GroupOffset extends TopicPartition {
  readonly offset: bigint;
}
