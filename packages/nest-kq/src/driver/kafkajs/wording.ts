/** Our messages and offsets in the words of kafkajs, and the other way round. */
import type { EachBatchPayload, KafkaMessage } from 'kafkajs';
import type { GroupOffset, Headers, LogMessage } from '../message.js';

export function readMessage({ offset, timestamp, key, value, headers = {} }: KafkaMessage): LogMessage {
  return { offset: BigInt(offset), timestamp: Number(timestamp), key, value, headers: readHeaders(headers) };
}

/** A value that is missing counts as empty: kafkajs can read one, and not write it. */
function readHeaders(headers: NonNullable<KafkaMessage['headers']>): Headers {
  const bytes = (value: Buffer | string | null | undefined) =>
    Buffer.isBuffer(value) ? value : Buffer.from(value ?? '');
  const entries = Object.entries(headers).map(([name, values]) => {
    return [name, Array.isArray(values) ? values.map(bytes) : bytes(values)] as const;
  });
  return Object.fromEntries(entries);
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
