import type { Clock } from 'nest-handlers/time';
import type { DriverLog } from '../driver.js';

export interface MemoryOptions {
  /** Gives messages their time, and the turns in which they are read. */
  readonly clock: Clock;
  /** Where it tells that messages were dropped. */
  readonly log: DriverLog;
  /** Of a topic that is created without a number. @default 4 */
  readonly partitions?: number;
  /** Whether a topic that is missing is created when it is first named. @default true */
  readonly autoCreate?: boolean;
  /** The bytes that a topic keeps; beyond them it drops its oldest messages, read or not. @default 67_108_864 (64 MiB) */
  readonly retainBytes?: number;
  /** The messages that a topic keeps. @default 1_000_000 */
  readonly retainMessages?: number;
  /** The bytes that one message may have, with its key and headers. @default 1_048_588, as Kafka's */
  readonly maxMessageBytes?: number;
  /** The bytes of one batch for a member; a larger message comes alone. @default 1_048_576 (1 MiB) */
  readonly fetchBytes?: number;
}

export type MemorySettings = Required<MemoryOptions>;

const DEFAULTS = {
  partitions: 4,
  autoCreate: true,
  retainBytes: 64 * 1_048_576,
  retainMessages: 1_000_000,
  maxMessageBytes: 1_048_588,
  fetchBytes: 1_048_576,
};

export function resolveMemoryOptions(options: MemoryOptions): MemorySettings {
  return { ...DEFAULTS, ...options };
}
