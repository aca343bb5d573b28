/** Single requests to the brokers: what kafkajs' admin does in other ways, or not at all. */
import type { Broker, Cluster, PartitionMetadata } from 'kafkajs';
import { detached } from 'nest-handlers/context';
import { isTopicName } from '../../api/topic-name.js';
import { KqError } from '../../errors.js';
import type { PartitionEnds, ReadMessages } from '../driver.js';
import type { PartitionOffset } from '../message.js';
import { withoutAborted, type FetchedPartition } from './fetch-answers.js';
import type { KafkajsClient } from './kafkajs-client.js';
import { noPartition } from '../partitioning.js';
import { isOutOfRange, meant } from './kafkajs-errors.js';
import { TOPIC_ERRORS, type TopicAnswer } from './metadata-answers.js';
import { readMessage } from './wording.js';

const PATIENCE = 10_000;
const PAUSE = 100;
/** How long a topic may be unknown that has just been created. */
const NEW_TOPIC = 500;

/** Milliseconds that a broker waits for a message which is not there yet. */
const FETCH_WAIT = 1_000;

/** Neither a member nor a generation: whoever is outside of the group. */
const OUTSIDE = { groupGenerationId: -1, memberId: '' };

export class KafkajsCluster {
  private cluster: Cluster | undefined;
  private closed = false;

  constructor(private readonly client: KafkajsClient) {}

  /** Resolves once a broker has answered. */
  async reach(patience: number): Promise<void> {
    await this.ask('cannot connect to Kafka', (cluster) => cluster.findControllerBroker(), patience);
  }

  /** All topics that this client may see. */
  async topics(patience?: number): Promise<Map<string, readonly PartitionMetadata[]>> {
    const ask = async (cluster: Cluster) => {
      const { topicMetadata } = await (await cluster.findControllerBroker()).metadata([]);
      const known = topicMetadata.filter(({ topicErrorCode }) => topicErrorCode === 0);
      return new Map(known.map(({ topic, partitionMetadata }) => [topic, sorted(partitionMetadata)]));
    };
    return this.ask('cannot list topics', ask, patience);
  }

  /** What a broker knows of these topics; one that it does not know is among them, with its error. Creates nothing. */
  async describe(topics: readonly string[], patience?: number): Promise<readonly TopicAnswer[]> {
    if (topics.length === 0) return []; // for Kafka that means all
    const ask = async (cluster: Cluster) => {
      const { topicMetadata } = await (await cluster.findControllerBroker()).metadata([...topics]);
      return topicMetadata;
    };
    return this.ask('cannot read about topics', ask, patience);
  }

  /**
   * Its partitions, in order; the leader of one that has none is -1. Rejects with `KQ_UNKNOWN_TOPIC` where no broker knows the
   * topic, and creates nothing.
   * @param young Milliseconds for which the topic may be unknown.
   */
  async partitions(
    topic: string,
    patience?: number,
    young = NEW_TOPIC,
  ): Promise<readonly PartitionMetadata[]> {
    const missing = new KqError('KQ_UNKNOWN_TOPIC', `there is no topic ${JSON.stringify(topic)}`);
    if (!isTopicName(topic)) throw missing;
    const what = `cannot read about topic ${topic}`;
    const ask = async (cluster: Cluster) => {
      const first = await about(topic, await cluster.findControllerBroker());
      const found = first?.topicErrorCode === TOPIC_ERRORS.unknown ? await amongAll(cluster, topic) : first;
      const code = found?.topicErrorCode ?? TOPIC_ERRORS.unknown;
      if (code === TOPIC_ERRORS.unknown || code === TOPIC_ERRORS.invalid) return undefined;
      if (code === TOPIC_ERRORS.refused) throw new KqError('KQ_REFUSED', `${what}: the right is missing`);
      return sorted(found?.partitionMetadata ?? []);
    };
    const { clock } = this.client;
    for (const end = clock.now() + young; ; await this.client.delay(PAUSE)) {
      const found = await this.ask(what, ask, patience);
      // One that is being created has none for a moment.
      if (found && found.length > 0) return found;
      if (clock.now() > end) throw missing;
    }
  }

  ends(topic: string): Promise<PartitionEnds[]> {
    return this.endsOf(topic, false);
  }

  async endsOfLed(topic: string): Promise<(PartitionEnds | undefined)[]> {
    const partitions = await this.partitions(topic);
    const ends = await this.endsOf(topic, true);
    return partitions.map(({ partitionId }) => ends.find(({ partition }) => partition === partitionId));
  }

  async offsetsAt(topic: string, time: number): Promise<PartitionOffset[]> {
    const found = await this.offsets(topic, { fromTimestamp: time });
    const ends = await this.offsets(topic, { fromBeginning: false });
    return found.map(({ partition, offset }, index) => ({
      partition,
      offset: offset >= 0n ? offset : (ends[index]?.offset ?? 0n),
    }));
  }

  async readFrom(topic: string, partition: number, offset: bigint, maxBytes: number): Promise<ReadMessages> {
    const partitions = await this.partitions(topic);
    if (partitions[partition] === undefined) throw noPartition(topic, partition, partitions.length);
    const read = await this.ask(`cannot read offset ${offset} of ${topic}/${partition}`, async (cluster) => {
      await cluster.addMultipleTargetTopics([topic]);
      const leaders = cluster.findLeaderForPartitions(topic, [partition]);
      const leader = await cluster.findBroker({ nodeId: Object.keys(leaders)[0]! });
      const asked = { partition, fetchOffset: String(offset), maxBytes };
      try {
        const answer: unknown = await leader.fetch({
          maxWaitTime: FETCH_WAIT,
          minBytes: 1,
          maxBytes,
          topics: [{ topic, partitions: [asked] }],
        });
        return messagesOf(answer, offset);
      } catch (error) {
        if (isOutOfRange(error)) return undefined;
        throw error;
      }
    });
    if (read) return read;
    const first = (await this.ends(topic)).find((each) => each.partition === partition)?.first ?? offset;
    return { messages: [], next: first > offset ? first : offset };
  }

  async committed(group: string, topic: string) {
    const partitions = await this.partitions(topic);
    return this.ask(`cannot read the offsets of group ${group}`, async (cluster) => {
      const coordinator = await cluster.findGroupCoordinator({ groupId: group });
      const asked = partitions.map(({ partitionId }) => ({ partition: partitionId, offset: '-1' }));
      const { responses } = await coordinator.offsetFetch({
        groupId: group,
        topics: [{ topic, partitions: asked }],
      });
      const found = new Map(
        responses.flatMap((each) =>
          each.partitions.map(({ partition, offset }) => [partition, BigInt(offset)]),
        ),
      );
      return partitions.map(({ partitionId: partition }) => {
        const offset = found.get(partition) ?? -1n;
        return { partition, offset: offset >= 0n ? offset : undefined };
      });
    });
  }

  /** kafkajs' own way is to join the group and to commit as a member. */
  async setCommitted(group: string, topic: string, offsets: readonly PartitionOffset[]): Promise<void> {
    const most = (await this.partitions(topic)).length - 1;
    const wrong = offsets.find(({ partition }) => !(partition >= 0 && partition <= most));
    if (wrong)
      throw new KqError(
        'KQ_BAD_MESSAGE',
        `the partition of ${topic} is ${wrong.partition}: expected 0 to ${most}`,
      );
    await this.ask(`cannot set the offsets of group ${group}`, async (cluster) => {
      const coordinator = await cluster.findGroupCoordinator({ groupId: group });
      const members = await countMembers(coordinator, group);
      if (members > 0) {
        const text = `${members} member${members === 1 ? '' : 's'}`;
        throw new KqError('KQ_GROUP_BUSY', `the group ${group} has ${text}: expected none`);
      }
      const partitions = offsets.map(({ partition, offset }) => ({ partition, offset: String(offset) }));
      await coordinator.offsetCommit({ ...OUTSIDE, groupId: group, topics: [{ topic, partitions }] });
    });
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.drop();
  }

  private async endsOf(topic: string, led: boolean): Promise<PartitionEnds[]> {
    const first = await this.offsets(topic, { fromBeginning: true }, led);
    const ends = await this.offsets(topic, { fromBeginning: false }, led);
    return first.flatMap(({ partition, offset }) => {
      const end = ends.find((each) => each.partition === partition);
      return end ? [{ partition, first: offset, end: end.offset }] : [];
    });
  }

  /** @param led Only of partitions that have a leader. */
  private async offsets(
    topic: string,
    from: { fromBeginning: boolean } | { fromTimestamp: number },
    led = false,
  ): Promise<PartitionOffset[]> {
    const numbers = (await this.partitions(topic)).map(({ partitionId }) => partitionId);
    return this.ask(`cannot read the offsets of topic ${topic}`, async (cluster) => {
      await cluster.addMultipleTargetTopics([topic]);
      if (led) await cluster.refreshMetadata();
      const leaderless = led ? cluster.findLeaderForPartitions(topic, numbers)[-1] : [];
      const asked = numbers.filter((partition) => !leaderless?.includes(partition));
      if (asked.length === 0) return [];
      const partitions = asked.map((partition) => ({ partition }));
      const [answer] = await cluster.fetchTopicsOffset([{ topic, partitions, ...from }]);
      const found = (answer?.partitions ?? []).map(({ partition, offset }) => ({
        partition,
        offset: BigInt(offset),
      }));
      return found.toSorted((a, b) => a.partition - b.partition);
    });
  }

  /** Asks once more, by new connections, as long as the brokers are away. */
  private async ask<T>(
    what: string,
    question: (cluster: Cluster) => Promise<T>,
    patience = PATIENCE,
  ): Promise<T> {
    const { clock } = this.client;
    for (const end = clock.now() + patience; ; await this.client.delay(PAUSE)) {
      if (this.closed) throw new KqError('KQ_CLOSED', `${what}: the client is closed`);
      try {
        const answer = await detached(async () => question(await this.connected())); // its connections stay
        this.client.tellBack();
        return answer;
      } catch (error) {
        const failure = meant(error, what);
        if (failure.code !== 'KQ_AWAY' && failure.code !== 'KQ_REFUSED') throw failure;
        // Not awaited: a broker that stands still would hold this up, too.
        this.drop().catch((thrown: unknown) => this.client.log.debug(`cannot disconnect: ${String(thrown)}`));
        if (failure.code === 'KQ_REFUSED' || clock.now() > end) throw failure;
      }
    }
  }

  private async connected(): Promise<Cluster> {
    const cluster = (this.cluster ??= clusterOf(this.client, () => this.closed));
    await cluster.connect();
    await cluster.refreshMetadataIfNecessary();
    return cluster;
  }

  private async drop(): Promise<void> {
    const { cluster } = this;
    this.cluster = undefined;
    await cluster?.disconnect();
  }
}

async function about(topic: string, broker: Broker): Promise<TopicAnswer | undefined> {
  const { topicMetadata } = await broker.metadata([topic]);
  return topicMetadata.find((each) => each.topic === topic);
}

/** Brokers learn of a new topic one after the other: that one does not know it says little. */
async function amongAll(cluster: Cluster, topic: string): Promise<TopicAnswer | undefined> {
  const nodeIds = (cluster as unknown as { getNodeIds(): string[] }).getNodeIds();
  const answers = await Promise.allSettled(
    nodeIds.map(async (nodeId) => about(topic, await cluster.findBroker({ nodeId }))),
  );
  const found = answers.map((each) => (each.status === 'fulfilled' ? each.value : undefined));
  return found.find((each) => each?.topicErrorCode === 0);
}

/** kafkajs hands the object behind its clients only to the assigners of a consumer. */
function clusterOf(client: KafkajsClient, ended: () => boolean): Cluster {
  let found: Cluster | undefined;
  client.kafka({ ended }).consumer({
    groupId: 'none',
    allowAutoTopicCreation: false,
    partitionAssigners: [
      ({ cluster }) => {
        found = cluster;
        return {
          name: '',
          version: 0,
          assign: async () => [],
          protocol: () => ({ name: '', metadata: Buffer.alloc(0) }),
        };
      },
    ],
  });
  if (!found) throw new Error('this version of kafkajs gives an assigner no cluster');
  return found;
}

/** Of one partition, as a member gets them: none of aborted transactions. kafkajs' types leave the answer out. */
function messagesOf(answer: unknown, offset: bigint): ReadMessages {
  const { responses } = answer as { responses: { partitions: FetchedPartition[] }[] };
  const partition = responses[0]?.partitions[0];
  if (!partition) return { messages: [], next: offset };
  const messages = withoutAborted(partition)
    .filter((message) => !message.isControlRecord && BigInt(message.offset) >= offset)
    .map(readMessage);
  const { next = offset } = partition;
  return { messages, next: next > offset ? next : offset };
}

async function countMembers(coordinator: Broker, group: string): Promise<number> {
  const answer: unknown = await coordinator.describeGroups({ groupIds: [group] });
  if (typeof answer !== 'object' || answer === null || !('groups' in answer) || !Array.isArray(answer.groups))
    return 0;
  return (answer.groups as unknown[]).reduce<number>((sum, each) => {
    const members = typeof each === 'object' && each !== null && 'members' in each ? each.members : [];
    return sum + (Array.isArray(members) ? members.length : 0);
  }, 0);
}

function sorted(partitions: readonly PartitionMetadata[]): PartitionMetadata[] {
  return partitions.toSorted((a, b) => a.partitionId - b.partitionId);
}
