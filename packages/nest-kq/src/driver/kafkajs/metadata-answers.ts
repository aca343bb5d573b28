/**
 * Metadata responses with each error where it belongs: kafkajs throws for the whole list if one topic is unknown or one
 * partition has no leader.
 */
import type { PartitionMetadata } from 'kafkajs';
import type { TopicInfo } from '../cluster.js';

/** Kafka's error codes for topics. */
export const TOPIC_ERRORS = { unknown: 3, invalid: 17, refused: 29 } as const;

export interface TopicAnswer {
  readonly topic: string;
  /** 0 for none. */
  readonly topicErrorCode: number;
  readonly partitionMetadata: PartitionMetadata[];
}

interface MetadataAnswer {
  readonly topicMetadata: readonly TopicAnswer[];
}

/** Keeps a topic with an error in the list, without partitions; a partition without a leader has the leader -1. */
export function keepErrors<Answer extends MetadataAnswer>(answer: Answer): Answer {
  const topicMetadata = answer.topicMetadata.map((each) =>
    each.topicErrorCode === 0 ? each : { ...each, partitionMetadata: [] },
  );
  return { ...answer, topicMetadata };
}

export function infoOf({ topic, topicErrorCode, partitionMetadata }: TopicAnswer): TopicInfo {
  if (topicErrorCode !== 0)
    return { topic, error: topicErrorCode === TOPIC_ERRORS.refused ? 'refused' : 'unknown', partitions: [] };
  const partitions = partitionMetadata
    .map(({ partitionId, leader, replicas }) => ({
      partition: partitionId,
      leader,
      replicas: replicas.length,
    }))
    .toSorted((a, b) => a.partition - b.partition);
  return { topic, partitions };
}
