/** What the brokers store, and where. */

/** By name, the values in the order in which they were given. */
export type Headers = Readonly<Record<string, Buffer | readonly Buffer[]>>;

/** Headers as a handler gets them: a name may be any, so nothing is inherited. A value that is missing counts as empty. */
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

/** Each value with its name, as a log stores them. */
export function pairsOf(headers: Headers): (readonly [name: string, value: Buffer])[] {
  const pairs: (readonly [string, Buffer])[] = [];
  for (const name in headers) {
    const values = headers[name]!;
    if (Buffer.isBuffer(values)) pairs.push([name, values]);
    else for (const value of values) pairs.push([name, value]);
  }
  return pairs;
}

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
