import type { Duration } from 'nest-handlers/time';
import { checkOptions, milliseconds, wholeNumber } from '../api/checks.js';
import type { Compression, ProducerOptions } from '../driver/driver.js';
import type { Partitioner } from '../driver/partitioning.js';
import { wrongValue } from '../errors.js';
import type { GathererOptions } from './gatherer.js';

/** Options of the pusher. */
export interface PusherOptions {
  /**
   * Max pushes waiting for an answer, over all topics: `messages`, 1 to 10,000,000, and their total `bytes`, 1 to 8 GiB. A push
   * beyond either is `KQ_FULL`. @default { messages: 100_000, bytes: 67_108_864 } (64 MiB)
   */
  buffer?: { messages?: number; bytes?: number };
  /** Max bytes of one request, 1 to 1 GiB; a larger message goes alone. @default 1_000_000 */
  requestBytes?: number;
  /**
   * How long a push is retried while brokers are away, 0 to an hour; a request in flight at that point may add its own timeout.
   * @default '30s'
   */
  patience?: Duration;
  /** Compression of requests. @default 'none' */
  compression?: Compression;
  /**
   * Chooses the partition of a message that names none, given its bytes and the number of partitions. Must always return the
   * same partition for a key, or the order of the key's messages is lost; return undefined for the default.
   * @default by key, like Java's client (murmur2); round-robin without a key
   */
  partitioner?: Partitioner;
  /**
   * Name of this pusher's transactions at the brokers. Each running process needs its own: beginning a transaction ends one
   * begun by another process under the same name. @default no transactions
   */
  transactionalId?: string;
}

export interface PusherSettings {
  readonly gatherer: GathererOptions;
  readonly producer: ProducerOptions;
  readonly transactionalId: string | undefined;
}

const NAMES: readonly string[] = [
  'buffer',
  'requestBytes',
  'patience',
  'compression',
  'partitioner',
  'transactionalId',
] satisfies readonly (keyof PusherOptions)[];
const BUFFER: readonly string[] = ['messages', 'bytes'] satisfies readonly (keyof NonNullable<
  PusherOptions['buffer']
>)[];
const COMPRESSIONS: readonly unknown[] = [
  'none',
  'gzip',
  'snappy',
  'lz4',
  'zstd',
] satisfies readonly Compression[];
const GIB = 2 ** 30;

/** Checks the options and fills in their defaults; `KQ_CONFIG`. */
export function resolvePusherOptions(options: PusherOptions): PusherSettings {
  checkOptions('KQ_CONFIG', 'the pusher', options, NAMES);
  const { buffer = {}, requestBytes = 1_000_000, patience = '30s' } = options;
  const { compression = 'none', partitioner, transactionalId } = options;
  checkOptions('KQ_CONFIG', '`buffer`', buffer, BUFFER);
  const { messages = 100_000, bytes = 64 * 2 ** 20 } = buffer;
  if (!COMPRESSIONS.includes(compression))
    throw wrongValue('KQ_CONFIG', '`compression`', compression, `one of ${COMPRESSIONS.join(', ')}`);
  if (partitioner !== undefined && typeof partitioner !== 'function')
    throw wrongValue('KQ_CONFIG', '`partitioner`', partitioner, 'a function');
  if (transactionalId !== undefined && (typeof transactionalId !== 'string' || transactionalId === ''))
    throw wrongValue('KQ_CONFIG', '`transactionalId`', transactionalId, 'a name');
  within('`requestBytes`', requestBytes, 1, GIB);
  return {
    gatherer: {
      messages: within('`buffer.messages`', messages, 1, 10_000_000),
      bytes: within('`buffer.bytes`', bytes, 1, 8 * GIB),
      requestBytes,
    },
    producer: {
      patience: milliseconds('KQ_CONFIG', '`patience`', patience, 0, 3_600_000),
      compression,
      partitioner,
      requestBytes,
    },
    transactionalId,
  };
}

function within(what: string, value: unknown, least: number, most: number): number {
  return wholeNumber('KQ_CONFIG', what, value, least, most);
}
