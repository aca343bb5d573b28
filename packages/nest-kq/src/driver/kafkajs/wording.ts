/** Converts messages and offsets between our form and that of kafkajs. */
import type { EachBatchPayload } from 'kafkajs';
import { headersOf, type GroupOffset, type LogMessage } from '../message.js';
import type { FetchedMessage } from './fetch-answers.js';

export function readMessage({
  offset,
  timestamp,
  key,
  value,
  headers = headersOf([]),
}: FetchedMessage): LogMessage {
  return { offset: BigInt(offset), timestamp: Number(timestamp), key, value, headers };
}

/** Takes a message and leaves kafkajs only the offset: kafkajs retains a batch for as long as its partition is held. */
export function takeMessage(message: FetchedMessage): LogMessage {
  const taken = readMessage(message);
  message.key = message.value = null;
  message.headers = undefined;
  return taken;
}

type TopicOffsets = Parameters<EachBatchPayload['commitOffsetsIfNecessary']>[0];

/** Returns the offsets by topic, in kafkajs' form. */
export function writeOffsets(offsets: readonly GroupOffset[]): NonNullable<TopicOffsets> {
  const topics = new Map<string, { partition: number; offset: string }[]>();
  for (const { topic, partition, offset } of offsets) {
    const partitions = topics.get(topic) ?? [];
    partitions.push({ partition, offset: String(offset) });
    topics.set(topic, partitions);
  }
  return { topics: [...topics].map(([topic, partitions]) => ({ topic, partitions })) };
}
