/** Requests of a driver to the brokers, other than producing and reading as a member. */
import { isTopicName, TOPIC_NAMES } from '../api/topic-name.js';
import { KqError, wrongValue } from '../errors.js';
import type { BrokerClient } from './broker-client.js';
import type { LogAdmin, PartitionEnds, ReadMessages, TopicSettings } from './driver.js';
import type { PartitionOffset } from './message.js';
import { noPartition } from './partitioning.js';

/** A partition as the brokers describe it. */
export interface PartitionInfo {
  readonly partition: number;
  /** Broker number; -1 for none. */
  readonly leader: number;
  readonly replicas: number;
}

export interface TopicInfo {
  readonly topic: string;
  /** Why nothing is known about it. */
  readonly error?: 'unknown' | 'refused';
  /** In order. */
  readonly partitions: readonly PartitionInfo[];
}

/** A topic to create, with everything the brokers need to know. */
export interface NewTopic {
  readonly topic: string;
  /** -1 for the brokers' default. */
  readonly partitions: number;
  /** -1 for the brokers' default. */
  readonly replicas: number;
  readonly config: Readonly<Record<string, string>>;
}

/** An offset of a partition: of its first message, after its last one, or of the first message at this time or later. */
export type At = 'first' | 'end' | number;

/** Default time a call keeps retrying. */
export const PATIENCE_MS = 10_000;
const PAUSE_MS = 100;
/** How long a newly created topic may be unknown. */
const NEW_TOPIC_MS = 500;
/** Time until the brokers know a topic they created, even on a busy machine. */
const CREATED_MS = 30_000;

/** Implements what is the same for all drivers; a driver's subclass makes the requests. */
export abstract class Cluster implements LogAdmin {
  constructor(protected readonly client: BrokerClient) {}

  /** Resolves once a broker has answered. */
  abstract reach(patience: number): Promise<void>;
  /** Resolves with all topics visible to this client. */
  abstract all(patience?: number): Promise<readonly TopicInfo[]>;
  /** Resolves with what a broker knows of these topics; unknown ones are included with their error. Creates nothing. */
  abstract describe(topics: readonly string[], patience?: number): Promise<readonly TopicInfo[]>;
  abstract readFrom(
    topic: string,
    partition: number,
    offset: bigint,
    maxBytes: number,
  ): Promise<ReadMessages>;
  abstract committed(
    group: string,
    topic: string,
  ): Promise<readonly { readonly partition: number; readonly offset: bigint | undefined }[]>;
  abstract setCommitted(group: string, topic: string, offsets: readonly PartitionOffset[]): Promise<void>;
  abstract close(): Promise<void>;
  /** Resolves in any order. The offset of a time is -1 if no message is that late. Rejects if a partition has no leader. */
  protected abstract offsets(
    topic: string,
    partitions: readonly number[],
    at: At,
    patience?: number,
  ): Promise<readonly PartitionOffset[]>;
  /** Leaves existing topics unchanged. */
  protected abstract create(topics: readonly NewTopic[]): Promise<void>;

  async topics() {
    const all = (await this.all()).filter(({ topic }) => !topic.startsWith('__'));
    return all
      .map(({ topic, partitions }) => ({ topic, partitions: partitions.length }))
      .toSorted((a, b) => (a.topic < b.topic ? -1 : 1));
  }

  async createTopics(topics: readonly TopicSettings[]): Promise<readonly string[]> {
    for (const { topic, partitions = 1 } of topics) check(topic, partitions);
    const existing = new Map((await this.all()).map((each) => [each.topic, each.partitions]));
    const missing = topics.filter(({ topic }) => !existing.has(topic));
    if (missing.length === 0) return [];
    await this.create(
      missing.map(({ topic, like = '', partitions, replicas, config = {} }) => {
        const model = existing.get(like);
        return {
          topic,
          partitions: partitions ?? model?.length ?? -1,
          replicas: replicas ?? model?.[0]?.replicas ?? -1,
          config,
        };
      }),
    );
    for (const { topic } of missing) await this.partitions(topic, CREATED_MS, CREATED_MS);
    return missing.map(({ topic }) => topic);
  }

  async ends(topic: string): Promise<PartitionEnds[]> {
    return this.endsOf(topic, await this.partitions(topic));
  }

  async endsOfLed(topic: string): Promise<(PartitionEnds | undefined)[]> {
    const { clock } = this.client;
    for (const until = clock.now() + PATIENCE_MS; ; await this.client.delay(PAUSE_MS)) {
      const partitions = await this.partitions(topic);
      try {
        const ends = await this.endsOf(topic, partitions.filter(hasLeader), 0);
        return partitions.map(({ partition }) => ends.find((each) => each.partition === partition));
      } catch (error) {
        // A broker may have named a leader that was already gone.
        if ((error as KqError).code !== 'KQ_AWAY' || clock.now() > until) throw error;
      }
    }
  }

  async offsetsAt(topic: string, time: number, asked?: readonly number[]): Promise<PartitionOffset[]> {
    const known = await this.withPartitions(topic, asked ?? []);
    const numbers = asked ?? known.map(({ partition }) => partition);
    const found = byPartition(await this.offsets(topic, numbers, Math.max(0, time)));
    const ends = byPartition(await this.offsets(topic, numbers, 'end'));
    return numbers.map((partition) => {
      const offset = found.get(partition) ?? -1n;
      return { partition, offset: offset >= 0n ? offset : (ends.get(partition) ?? 0n) };
    });
  }

  async read(topic: string, partition: number, offset: bigint) {
    const { messages } = await this.readFrom(topic, partition, offset, 1); // a message is never split
    return messages.find((message) => message.offset === offset);
  }

  /**
   * Returns the result of a read at an offset where the partition has nothing. Asks about this partition alone: others may have
   * no leader.
   */
  protected async readNothing(topic: string, partition: number, offset: bigint): Promise<ReadMessages> {
    const [first] = await this.offsets(topic, [partition], 'first');
    return { messages: [], next: first && first.offset > offset ? first.offset : offset };
  }

  /**
   * Resolves with its partitions, in order. Rejects with `KQ_UNKNOWN_TOPIC` if no broker knows the topic, and creates nothing.
   * @param young How long the topic may be unknown, in ms.
   */
  async partitions(
    topic: string,
    patience?: number,
    young = NEW_TOPIC_MS,
  ): Promise<readonly PartitionInfo[]> {
    const missing = new KqError('KQ_UNKNOWN_TOPIC', `there is no topic ${JSON.stringify(topic)}`);
    if (!isTopicName(topic)) throw missing;
    const { clock } = this.client;
    for (const end = clock.now() + young; ; await this.client.delay(PAUSE_MS)) {
      const found = await this.find(topic, patience);
      if (found?.error === 'refused')
        throw new KqError('KQ_REFUSED', `cannot describe topic ${topic}: permission denied`);
      // A topic under creation briefly has none.
      if (found && found.partitions.length > 0) return found.partitions;
      if (clock.now() > end) throw missing;
    }
  }

  private async endsOf(
    topic: string,
    partitions: readonly PartitionInfo[],
    patience?: number,
  ): Promise<PartitionEnds[]> {
    const numbers = partitions.map(({ partition }) => partition);
    if (numbers.length === 0) return [];
    const firsts = byPartition(await this.offsets(topic, numbers, 'first', patience));
    const ends = byPartition(await this.offsets(topic, numbers, 'end', patience));
    return numbers.flatMap((partition) => {
      const [first, end] = [firsts.get(partition), ends.get(partition)];
      return first === undefined || end === undefined ? [] : [{ partition, first, end }];
    });
  }

  protected async find(topic: string, patience?: number): Promise<TopicInfo | undefined> {
    return (await this.describe([topic], patience))[0];
  }

  /** Resolves with all partitions of the topic. Rejects with `KQ_BAD_MESSAGE` if one of `asked` doesn't exist. */
  protected async withPartitions(topic: string, asked: readonly number[]): Promise<readonly PartitionInfo[]> {
    const known = await this.partitions(topic);
    const wrong = asked.find((partition) => known[partition] === undefined);
    if (wrong !== undefined) throw noPartition(topic, wrong, known.length);
    return known;
  }
}

function byPartition(offsets: readonly PartitionOffset[]): Map<number, bigint> {
  return new Map(offsets.map(({ partition, offset }) => [partition, offset]));
}

export function hasLeader({ leader }: Pick<PartitionInfo, 'leader'>): boolean {
  return leader >= 0;
}

function check(topic: string, partitions: number): void {
  if (!isTopicName(topic)) throw wrongValue('KQ_CONFIG', 'the topic', topic, TOPIC_NAMES);
  if (!Number.isSafeInteger(partitions) || partitions < 1)
    throw new KqError(
      'KQ_CONFIG',
      `the partition count of ${topic} is ${partitions}: expected a whole number, 1 or more`,
    );
}
