/** What we use of `@confluentinc/kafka-javascript`: its interface like node-rdkafka's, which says what each message became. */

import type { ProducerContext } from '../kafkajs/topics.js';

/** The module itself, as an application imports it. */
export interface ConfluentModule {
  readonly Producer: new (config: Config, topicConfig?: Config) => ConfluentProducerClient;
  readonly KafkaConsumer: new (config: Config, topicConfig?: Config) => ConfluentConsumerClient;
}

/** What producers and members of one driver share. */
export interface ConfluentContext extends ProducerContext {
  readonly module: ConfluentModule;
}

/** Settings of librdkafka by their names there, and callbacks. */
export type Config = Record<string, unknown>;

/** Numbers of librdkafka are negative, those of the protocol positive. */
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
  /** There was no token; without a listener that would end the process. */
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
  /** There was no token; without a listener that would end the process. */
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
  /** Whether what is taken from it now was lost before. */
  assignmentLost(): boolean;
  pause(places: readonly Place[]): unknown;
  resume(places: readonly Place[]): unknown;
  /** What comes of it comes by `offset_commit_cb`. */
  commit(offsets: readonly PlaceWithOffset[]): unknown;
  getWatermarkOffsets(topic: string, partition: number): { readonly highOffset: number };
  on(event: 'event.error', listener: (error: ConfluentError) => void): unknown;
  /** There was no token; without a listener that would end the process. */
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'partition.eof', listener: (end: PlaceWithOffset) => void): unknown;
}

/** One call of theirs as a promise; it rejects with their error. */
export function called<T>(call: (done: Done<T>) => unknown): Promise<T> {
  return new Promise((resolve, reject) => {
    call((error, result) => (error ? reject(error) : resolve(result)));
  });
}

/** Resolves once connections are closed. Never rejects. */
export function disconnected(client: ConfluentClient): Promise<void> {
  return client.isConnected() ? new Promise((resolve) => client.disconnect(resolve)) : Promise.resolve();
}
