/** Chooses partitions by key, like Java's client, so that producers in any language agree. */
import { KqError, show } from '../errors.js';
import type { Headers, OutgoingMessage } from './message.js';

/** A message that needs a partition. */
export interface MessageToPlace {
  /** Topic name. */
  readonly topic: string;
  /** Null if there is none. */
  readonly key: Buffer | null;
  /** Null for a tombstone. */
  readonly value: Buffer | null;
  /** Its headers; empty if there are none. */
  readonly headers: Headers;
}

/**
 * Chooses the partition of a message.
 * @returns A partition, from 0 to `partitions - 1`; undefined to choose by key.
 */
export type Partitioner = (message: MessageToPlace, partitions: number) => number | undefined;

const SEED = 0x9747b28c;
const M = 0x5bd1e995;

/** Kafka's own variant of MurmurHash2, as a signed 32-bit number. */
export function murmur2(bytes: Uint8Array): number {
  const { length } = bytes;
  const at = (index: number): number => bytes[index] ?? 0;
  let hash = SEED ^ length;
  const whole = length & ~3;
  for (let index = 0; index < whole; index += 4) {
    let word = at(index) | (at(index + 1) << 8) | (at(index + 2) << 16) | (at(index + 3) << 24);
    word = Math.imul(word, M);
    word ^= word >>> 24;
    hash = Math.imul(hash, M) ^ Math.imul(word, M);
  }
  if (whole < length) {
    hash ^= at(whole) | (at(whole + 1) << 8) | (at(whole + 2) << 16);
    hash = Math.imul(hash, M);
  }
  hash = Math.imul(hash ^ (hash >>> 13), M);
  return hash ^ (hash >>> 15);
}

/**
 * Returns the partition the message names, or that the partitioner or its key chooses; undefined for any. `KQ_BAD_MESSAGE`: the
 * topic has no such partition, or the partitioner throws.
 */
export function choosePartition(
  topic: string,
  message: OutgoingMessage,
  partitions: number,
  partitioner: Partitioner | undefined,
): number | undefined | KqError {
  const { key, value } = message;
  let { partition } = message;
  try {
    partition ??= partitioner?.({ topic, key, value, headers: message.headers ?? {} }, partitions);
  } catch (cause) {
    return new KqError('KQ_BAD_MESSAGE', `the partitioner threw for a message of ${topic}`, { cause });
  }
  if (partition === undefined) return key ? partitionOf(key, partitions) : undefined;
  if (partition >= 0 && partition < partitions && Number.isInteger(partition)) return partition;
  return noPartition(topic, partition, partitions);
}

/** @param partitions Number of partitions of the topic. */
export function noPartition(topic: string, partition: unknown, partitions: number): KqError {
  const expected = `expected 0 to ${partitions - 1}`;
  return new KqError('KQ_BAD_MESSAGE', `the partition of ${topic} is ${show(partition)}: ${expected}`);
}

/** @param partitions Number of partitions of the topic. */
export function partitionOf(key: Uint8Array, partitions: number): number {
  return (murmur2(key) & 0x7fffffff) % partitions;
}
