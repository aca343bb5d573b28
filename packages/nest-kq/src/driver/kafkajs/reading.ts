import type { Batch } from 'kafkajs';
import type { TopicPartition } from '../message.js';

/** How often a batch that looks like one of before is left out. No broker answers a fetch of before more than once. */
const MOST_STALE = 10;
/** So often while the position is not known: then it may be that of before. */
const MOST_DOUBTED = 2;

/** How far a partition is read, in one assignment. */
export class Reading implements TopicPartition {
  readonly topic: string;
  readonly partition: number;
  /** The offset that comes next; undefined before the first batch, when it is what the group has committed. */
  position: bigint | undefined;
  /** By the handler. */
  paused = false;
  /** Where it begins is not known yet. */
  starting = false;
  /** By kafkajs. */
  held = false;
  /** Where the assignment before was. */
  private readonly before: bigint | undefined;
  private stale = 0;

  constructor(place: TopicPartition, before: Reading | undefined) {
    this.topic = place.topic;
    this.partition = place.partition;
    this.before = before?.position ?? before?.before;
    if (before?.held) this.held = true;
  }

  /**
   * False: the batch was asked for before the rejoin, by a fetch from another broker, and what lies before it may not be
   * handled. kafkajs would hand it over.
   */
  accepts(batch: Batch): boolean {
    const fetched = fetchedOffset(batch);
    if (fetched === undefined || fetched === this.position || fetched !== this.before) return true;
    return ++this.stale > (this.position === undefined ? MOST_DOUBTED : MOST_STALE);
  }
}

/** What the log has lost of a partition that was to go on at `expected`. */
export function lostBefore(batch: Batch, expected: bigint | undefined) {
  const fetched = fetchedOffset(batch);
  if (expected === undefined || fetched === undefined || fetched <= expected) return undefined;
  return { from: expected, to: fetched };
}

/** Which offset was asked for. kafkajs' types leave it out. */
function fetchedOffset(batch: Batch): bigint | undefined {
  const offset = 'fetchedOffset' in batch ? batch.fetchedOffset : undefined;
  return typeof offset === 'string' ? BigInt(offset) : undefined;
}
