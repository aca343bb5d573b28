/** Which partition each message of a call goes to. */
import { KqError } from '../errors.js';
import type { OutgoingMessage } from './message.js';
import { choosePartition, type Partitioner } from './partitioning.js';
import type { Leaders } from './topic-leaders.js';

/** A message with its partition, and its place among those of the call. */
export interface Placed {
  readonly index: number;
  readonly partition: number;
  readonly message: OutgoingMessage;
}

/**
 * Chooses each message's partition, once: so that a message stays in its partition when it is sent again.
 * @param keyless The partition of a message without a key; any number.
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

/** The one that it names, the one that is chosen for it, or the next one that has a leader. */
export function partitionFor(
  topic: string,
  message: OutgoingMessage,
  { of, led }: Leaders,
  keyless: number,
  partitioner: Partitioner | undefined,
): number | KqError {
  return choosePartition(topic, message, of.length, partitioner) ?? led[keyless % led.length]!;
}
