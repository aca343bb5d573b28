import type { Clock } from 'nest-handlers/time';
import type { DriverLog } from '../driver.js';

export interface MemoryOptions {
  /** Source of timestamps, and of the turns in which messages are read. */
  readonly clock: Clock;
  /** Log for dropped messages. */
  readonly log: DriverLog;
  /** Partitions of a topic created without a number. @default 4 */
  readonly partitions?: number;
  /** Whether a missing topic is created when first named. @default true */
  readonly autoCreate?: boolean;
  /** Max bytes of a topic; beyond that it drops its oldest messages, read or not. @default 67_108_864 (64 MiB) */
  readonly retainBytes?: number;
  /** Max messages of a topic. @default 1_000_000 */
  readonly retainMessages?: number;
  /** Max bytes of one message, with its key and headers. @default 1_048_588, as Kafka's */
  readonly maxMessageBytes?: number;
  /** Max bytes of one batch for a member; a larger message comes alone. @default 1_048_576 (1 MiB) */
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
