/** Our messages and offsets in the words of kafkajs, and the other way round. */
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

/** Leaves kafkajs nothing but the offset: it has a batch in hand for as long as its partition is held. */
export function takeMessage(message: FetchedMessage): LogMessage {
  const taken = readMessage(message);
  message.key = message.value = null;
  message.headers = undefined;
  return taken;
}

type TopicOffsets = Parameters<EachBatchPayload['commitOffsetsIfNecessary']>[0];

/** What `offsets` says, by topic. */
export function writeOffsets(offsets: readonly GroupOffset[]): NonNullable<TopicOffsets> {
  const topics = new Map<string, { partition: number; offset: string }[]>();
  for (const { topic, partition, offset } of offsets) {
    const partitions = topics.get(topic) ?? [];
    partitions.push({ partition, offset: String(offset) });
    topics.set(topic, partitions);
  }
  return { topics: [...topics].map(([topic, partitions]) => ({ topic, partitions })) };
}
