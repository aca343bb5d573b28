import type { ModulesContainer } from '@nestjs/core';
import { show } from '../errors.js';
import { Refusal } from './failures.js';
import { number, text, time, type Input } from './input.js';
import type { KafkaCluster, KafkaFilter, KafkaLetter, KafkaPlace } from './kafka-cluster.js';

/** The token of each `KafkaCluster`, the same as in nest-kq. */
const KAFKA = Symbol.for('nest-dq/dashboard:kafka');

/** The Kafka clusters of an application. */
export class KafkaClusters {
  constructor(private readonly all: readonly KafkaCluster[]) {}

  static in(modules: ModulesContainer): KafkaClusters {
    const found = [...modules.values()].map(({ providers }) => providers.get(KAFKA)?.instance as unknown);
    return new KafkaClusters(found.filter((each) => each !== undefined) as KafkaCluster[]);
  }

  /** Names of the clusters; an empty string for the unnamed one. */
  get names(): readonly string[] {
    return this.all.map(({ cluster = '' }) => cluster);
  }

  /** The one named by `cluster` in a query or a body. Throws a `Refusal`. */
  of(input: Input): KafkaCluster {
    const { cluster: name } = input.part('cluster', text);
    const found = this.all.find(({ cluster }) => cluster === name);
    if (found) return found;
    const what = name === undefined ? 'no unnamed Kafka cluster' : `no Kafka cluster ${show(name)}`;
    throw new Refusal(404, 'NOT_FOUND', `the application has ${what}`);
  }
}

/** Maximum number of letters counted per topic. */
const MAX_COUNTED = 1_000;

/** Rejects with a `Refusal`, or as `list` does. */
export async function kafkaCount(
  kafka: KafkaClusters,
  input: Input,
): Promise<{ letters: number; more: boolean; newest?: Date; leaderless?: readonly number[] }> {
  const { letters } = kafka.of(input);
  const page = await letters.list(input.must('topic', text), { filter: {}, limit: MAX_COUNTED });
  const { leaderless } = page;
  const [last] = page.letters;
  return {
    letters: page.letters.length,
    more: page.cursor !== undefined,
    ...(last && { newest: last.diedAt }),
    ...(leaderless && { leaderless }),
  };
}

/** The fields that name one letter. */
export const KAFKA_LETTER = ['cluster', 'topic', 'partition', 'offset'] as const;

/** Throws `DQ_BAD_OPTION`. */
export function kafkaPlace(input: Input): KafkaPlace {
  return { partition: input.must('partition', number), offset: input.must('offset', text) };
}

/** The fields of a filter. */
export const KAFKA_FILTER = ['origin', 'error', 'key', 'from', 'to'] as const;

/** Throws `DQ_BAD_OPTION`, `DQ_BAD_TIME`. */
export function kafkaFilter(input: Input): KafkaFilter {
  const { origin } = input.part('origin', text);
  return {
    ...(origin !== undefined && { topic: origin }),
    ...input.part('error', text),
    ...input.part('key', text),
    ...input.part('from', time),
    ...input.part('to', time),
  };
}

/** Rejects with a `Refusal`, or as `get` does. */
export async function kafkaLetter(kafka: KafkaClusters, input: Input): Promise<KafkaLetter> {
  const { letters } = kafka.of(input);
  const letter = await letters.get(input.must('topic', text), kafkaPlace(input));
  if (letter) return letter;
  throw new Refusal(404, 'NOT_FOUND', 'no such dead letter, or it is no longer in the topic');
}
