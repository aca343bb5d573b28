/**
 * The part of `@confluentinc/kafka-javascript` we use: its node-rdkafka-like interface, which reports the fate of each message.
 */

import type { ProducerContext } from '../broker-driver.js';

/** The module as imported by an application. */
export interface ConfluentModule {
  readonly Producer: new (config: Config, topicConfig?: Config) => ConfluentProducerClient;
  readonly KafkaConsumer: new (config: Config, topicConfig?: Config) => ConfluentConsumerClient;
  readonly AdminClient: { create(config: Config, listeners: AdminListeners): ConfluentAdminClient };
}

/** Shared by the producers and members of one driver. */
export interface ConfluentContext extends ProducerContext {
  readonly module: ConfluentModule;
}

/** Settings by their librdkafka names, and callbacks. */
export type Config = Record<string, unknown>;

/** Error codes of librdkafka are negative, those of the protocol positive. */
export interface ConfluentError extends Error {
  readonly code: number;
  readonly isFatal?: boolean;
}

type Done<T = unknown> = (error: ConfluentError | null | undefined, result: T) => void;

interface ConfluentClient {
  connect(options: { readonly allTopics: boolean; readonly timeout: number }, done: Done): unknown;
  disconnect(done: () => void): unknown;
  isConnected(): boolean;
  on(event: 'event.error', listener: (error: ConfluentError) => void): unknown;
  /** No token was available; without a listener that would crash the process. */
  on(event: 'error', listener: (error: Error) => void): unknown;
}

export interface DeliveryReport {
  readonly offset: number;
  readonly opaque: unknown;
}

export interface Place {
  readonly topic: string;
  readonly partition: number;
}

export interface PlaceWithOffset extends Place {
  readonly offset: number;
}

export interface ConfluentProducerClient extends ConfluentClient {
  produce(
    topic: string,
    partition: number,
    value: Buffer | null,
    key: Buffer | null,
    timestamp: number,
    opaque: unknown,
    headers: readonly Readonly<Record<string, Buffer>>[],
  ): unknown;
  setPollInBackground(on: boolean): void;
  on(event: 'event.error', listener: (error: ConfluentError) => void): unknown;
  /** No token was available; without a listener that would crash the process. */
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'delivery-report', listener: Done<DeliveryReport>): unknown;
  initTransactions(timeout: number, done: Done): void;
  beginTransaction(done: Done): void;
  sendOffsetsToTransaction(
    offsets: readonly PlaceWithOffset[],
    consumer: ConfluentConsumerClient,
    timeout: number,
    done: Done,
  ): void;
  commitTransaction(timeout: number, done: Done): void;
  abortTransaction(timeout: number, done: Done): void;
}

export interface ConfluentMessage extends PlaceWithOffset {
  readonly timestamp: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers?: readonly Readonly<Record<string, Buffer | string | null>>[];
}

export interface ConfluentConsumerClient extends ConfluentClient {
  subscribe(topics: readonly string[]): unknown;
  consume(most: number, done: Done<readonly ConfluentMessage[]>): void;
  setDefaultConsumeTimeout(milliseconds: number): void;
  assign(places: readonly (Place & { readonly offset?: number })[]): unknown;
  committed(
    places: readonly Place[],
    timeout: number,
    done: Done<readonly Partial<PlaceWithOffset>[]>,
  ): unknown;
  unassign(): unknown;
  /** Whether the revoked assignment was already lost. */
  assignmentLost(): boolean;
  pause(places: readonly Place[]): unknown;
  resume(places: readonly Place[]): unknown;
  /** The result arrives by `offset_commit_cb`. */
  commit(offsets: readonly PlaceWithOffset[]): unknown;
  commitCb(offsets: readonly PlaceWithOffset[], done: Done): unknown;
  getWatermarkOffsets(topic: string, partition: number): { readonly highOffset: number };
  on(event: 'event.error', listener: (error: ConfluentError) => void): unknown;
  /** No token was available; without a listener that would crash the process. */
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'partition.eof', listener: (end: PlaceWithOffset) => void): unknown;
}

interface AdminListeners {
  readonly 'event.error': (error: ConfluentError) => void;
  readonly error: (error: Error) => void;
}

interface Limit {
  /** In ms. */
  readonly timeout: number;
}

/** Called one at a time: each further call would occupy a thread of Node's pool while waiting. */
export interface ConfluentAdminClient {
  /** Blocks while a call is pending. */
  disconnect(): void;
  getMetadata(options: Limit & { readonly allTopics: true }, done: Done<ConfluentMetadata>): void;
  describeTopics(topics: readonly string[], options: Limit, done: Done<readonly DescribedTopic[]>): void;
  listOffsets(
    partitions: readonly (Place & { readonly offset: { readonly timestamp: number } })[],
    options: Limit & { readonly isolationLevel: number },
    done: Done<readonly FoundOffset[]>,
  ): void;
  listConsumerGroupOffsets(
    groups: readonly { readonly groupId: string; readonly partitions: readonly Place[] }[],
    options: Limit,
    done: Done<readonly GroupOffsets[]>,
  ): void;
  describeGroups(groups: readonly string[], options: Limit, done: Done<DescribedGroups>): void;
  createTopic(
    topic: {
      readonly topic: string;
      readonly num_partitions: number;
      readonly replication_factor: number;
      readonly config: Readonly<Record<string, string>>;
    },
    timeout: number,
    done: Done,
  ): void;
}

/** Omits errors of topics: one with an error has no partitions. */
export interface ConfluentMetadata {
  readonly topics: readonly {
    readonly name: string;
    readonly partitions: readonly {
      readonly id: number;
      readonly leader: number;
      readonly replicas: readonly unknown[];
    }[];
  }[];
}

export interface DescribedTopic {
  readonly name: string;
  readonly error?: ConfluentError;
  readonly partitions: readonly {
    readonly partition: number;
    readonly leader: { readonly id: number } | null;
    readonly replicas: readonly unknown[];
  }[];
}

export interface FoundOffset extends PlaceWithOffset {
  readonly error?: ConfluentError;
}

export interface GroupOffsets {
  readonly error?: ConfluentError;
  readonly partitions: readonly FoundOffset[];
}

export interface DescribedGroups {
  readonly groups: readonly { readonly error?: ConfluentError; readonly members: readonly unknown[] }[];
}

/** Wraps one call of theirs in a promise; rejects with their error. */
export function called<T>(call: (done: Done<T>) => unknown): Promise<T> {
  return new Promise((resolve, reject) => {
    call((error, result) => (error ? reject(error) : resolve(result)));
  });
}

/** Resolves once the connections are closed. Never rejects. */
export function disconnected(client: ConfluentClient): Promise<void> {
  return client.isConnected() ? new Promise((resolve) => client.disconnect(resolve)) : Promise.resolve();
}
