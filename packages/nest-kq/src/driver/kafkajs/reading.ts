import type { Batch } from 'kafkajs';
import type { TopicPartition } from '../message.js';

/** Max times a batch that looks stale is dropped. No broker answers a stale fetch more than once. */
const MAX_STALE = 10;
/** Max times while the position is unknown: the batch may be a valid one then. */
const MAX_DOUBTED = 2;

/** Read progress of a partition within one assignment. */
export class Reading implements TopicPartition {
  readonly topic: string;
  readonly partition: number;
  /** Next offset; undefined before the first batch, when it is the group's committed offset. */
  position: bigint | undefined;
  /** Paused by the handler. */
  paused = false;
  /** Its start offset isn't known yet. */
  starting = false;
  /** Paused at kafkajs. */
  held = false;
  /** Position in the previous assignment. */
  private readonly before: bigint | undefined;
  private stale = 0;

  constructor(place: TopicPartition, before: Reading | undefined) {
    this.topic = place.topic;
    this.partition = place.partition;
    this.before = before?.position ?? before?.before;
    if (before?.held) this.held = true;
  }

  /**
   * Returns false if the batch was requested before the rejoin, by a fetch from another broker, and messages before it may be
   * unhandled. kafkajs would deliver it.
   */
  accepts(batch: Batch): boolean {
    const fetched = fetchedOffset(batch);
    if (fetched === undefined || fetched === this.position || fetched !== this.before) return true;
    return ++this.stale > (this.position === undefined ? MAX_DOUBTED : MAX_STALE);
  }
}

/** Returns the offsets the log has lost in a partition that was to continue at `expected`. */
export function lostBefore(batch: Batch, expected: bigint | undefined) {
  const fetched = fetchedOffset(batch);
  if (expected === undefined || fetched === undefined || fetched <= expected) return undefined;
  return { from: expected, to: fetched };
}

/** Returns the requested offset, which kafkajs' types omit. */
function fetchedOffset(batch: Batch): bigint | undefined {
  const offset = 'fetchedOffset' in batch ? batch.fetchedOffset : undefined;
  return typeof offset === 'string' ? BigInt(offset) : undefined;
}
