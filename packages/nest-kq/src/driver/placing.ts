/** Chooses the partition of each message of a call. */
import { KqError } from '../errors.js';
import type { OutgoingMessage } from './message.js';
import { choosePartition, type Partitioner } from './partitioning.js';
import type { Leaders } from './topic-leaders.js';

/** A message with its partition and its index in the call. */
export interface Placed {
  readonly index: number;
  readonly partition: number;
  readonly message: OutgoingMessage;
}

/**
 * Chooses each message's partition once, so that a resent message stays in its partition.
 * @param keyless Selects the partition of messages without a key; any number.
 */
export function place(
  topic: string,
  messages: readonly OutgoingMessage[],
  leaders: Leaders,
  keyless: number,
  partitioner?: Partitioner,
): { placed: Placed[]; wrong: Map<number, KqError> } {
  const placed: Placed[] = [];
  const wrong = new Map<number, KqError>();
  messages.forEach((message, index) => {
    const partition = partitionFor(topic, message, leaders, keyless, partitioner);
    if (partition instanceof KqError) wrong.set(index, partition);
    else placed.push({ index, partition, message });
  });
  return { placed, wrong };
}

/** Returns the partition it names, the one chosen for it, or the next one with a leader. */
export function partitionFor(
  topic: string,
  message: OutgoingMessage,
  { of, led }: Leaders,
  keyless: number,
  partitioner: Partitioner | undefined,
): number | KqError {
  return choosePartition(topic, message, of.length, partitioner) ?? led[keyless % led.length]!;
}
