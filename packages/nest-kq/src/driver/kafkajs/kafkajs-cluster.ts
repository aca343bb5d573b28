/** Single requests to the brokers that kafkajs' admin does differently, or not at all. */
import type { Broker, Cluster as Brokers } from 'kafkajs';
import { detached } from 'nest-handlers/context';
import { KqError } from '../../errors.js';
import { Cluster, PATIENCE_MS, type At, type NewTopic, type TopicInfo } from '../cluster.js';
import type { ReadMessages } from '../driver.js';
import type { PartitionOffset } from '../message.js';
import { withoutAborted, type FetchedPartition } from './fetch-answers.js';
import type { KafkajsClient } from './kafkajs-client.js';
import { isOutOfRange, meant } from './kafkajs-errors.js';
import { infoOf } from './metadata-answers.js';
import { readMessage } from './wording.js';

const PAUSE = 100;

/** How long a broker waits for a message that isn't there yet. */
const FETCH_WAIT_MS = 1_000;

/** No member and no generation: the identity of anyone outside the group. */
const OUTSIDE = { groupGenerationId: -1, memberId: '' };

export class KafkajsCluster extends Cluster {
  private cluster: Brokers | undefined;
  private closed = false;

  constructor(protected override readonly client: KafkajsClient) {
    super(client);
  }

  /** Resolves once a broker has answered. */
  async reach(patience: number): Promise<void> {
    await this.ask('cannot connect to Kafka', (cluster) => cluster.findControllerBroker(), patience);
  }

  async all(patience?: number): Promise<readonly TopicInfo[]> {
    const all = await this.metadata([], 'cannot list topics', patience);
    return all.filter(({ error }) => !error);
  }

  async describe(topics: readonly string[], patience?: number): Promise<readonly TopicInfo[]> {
    if (topics.length === 0) return []; // for Kafka an empty list means all
    return this.metadata(topics, 'cannot describe topics', patience);
  }

  /** Brokers learn of a new topic one by one, so that one doesn't know it says little. */
  protected override async find(topic: string, patience?: number): Promise<TopicInfo | undefined> {
    const found = await super.find(topic, patience);
    if (found?.error !== 'unknown') return found;
    const ask = async (cluster: Brokers) => {
      const nodeIds = (cluster as unknown as { getNodeIds(): string[] }).getNodeIds();
      const answers = await Promise.allSettled(
        nodeIds.map(async (nodeId) => about([topic], await cluster.findBroker({ nodeId }))),
      );
      return answers.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
    };
    const answers = await this.ask(`cannot describe topic ${topic}`, ask, patience);
    return answers.find(({ error }) => !error) ?? found;
  }

  async readFrom(topic: string, partition: number, offset: bigint, maxBytes: number): Promise<ReadMessages> {
    await this.withPartitions(topic, [partition]);
    const read = await this.ask(`cannot read offset ${offset} of ${topic}/${partition}`, async (cluster) => {
      await cluster.addMultipleTargetTopics([topic]);
      const leaders = cluster.findLeaderForPartitions(topic, [partition]);
      const leader = await cluster.findBroker({ nodeId: Object.keys(leaders)[0]! });
      const asked = { partition, fetchOffset: String(offset), maxBytes };
      try {
        const answer: unknown = await leader.fetch({
          maxWaitTime: FETCH_WAIT_MS,
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
    return read ?? this.readNothing(topic, partition, offset);
  }

  async committed(group: string, topic: string) {
    const partitions = await this.partitions(topic);
    return this.ask(`cannot read the offsets of group ${group}`, async (cluster) => {
      const coordinator = await cluster.findGroupCoordinator({ groupId: group });
      const asked = partitions.map(({ partition }) => ({ partition, offset: '-1' }));
      const { responses } = await coordinator.offsetFetch({
        groupId: group,
        topics: [{ topic, partitions: asked }],
      });
      const found = new Map(
        responses.flatMap((each) =>
          each.partitions.map(({ partition, offset }) => [partition, BigInt(offset)]),
        ),
      );
      return partitions.map(({ partition }) => {
        const offset = found.get(partition) ?? -1n;
        return { partition, offset: offset >= 0n ? offset : undefined };
      });
    });
  }

  /** kafkajs itself would join the group and commit as a member. */
  async setCommitted(group: string, topic: string, offsets: readonly PartitionOffset[]): Promise<void> {
    const asked = offsets.map(({ partition }) => partition);
    await this.withPartitions(topic, asked);
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

  protected async create(topics: readonly NewTopic[]): Promise<void> {
    const admin = this.client.kafka().admin();
    try {
      await admin.connect();
      await admin.createTopics({
        waitForLeaders: false, // kafkajs fails if the brokers don't know them yet
        topics: topics.map(({ topic, partitions, replicas, config }) => ({
          topic,
          numPartitions: partitions,
          replicationFactor: replicas,
          configEntries: Object.entries(config).map(([name, value]) => ({ name, value })),
        })),
      });
    } catch (error) {
      throw meant(error, `cannot create ${topics.map(({ topic }) => topic).join(', ')}`);
    } finally {
      await admin.disconnect();
    }
  }

  private metadata(topics: readonly string[], what: string, patience?: number): Promise<TopicInfo[]> {
    return this.ask(what, async (cluster) => about(topics, await cluster.findControllerBroker()), patience);
  }

  protected async offsets(
    topic: string,
    partitions: readonly number[],
    at: At,
    patience?: number,
  ): Promise<PartitionOffset[]> {
    const asked = partitions.map((partition) => ({ partition }));
    const from = typeof at === 'number' ? { fromTimestamp: at } : { fromBeginning: at === 'first' };
    return this.ask(
      `cannot read the offsets of topic ${topic}`,
      async (cluster) => {
        await cluster.addMultipleTargetTopics([topic]);
        await cluster.refreshMetadata(); // its leaders may be older than the caller's
        const [answer] = await cluster.fetchTopicsOffset([{ topic, partitions: asked, ...from }]);
        return (answer?.partitions ?? []).map(({ partition, offset }) => ({
          partition,
          offset: BigInt(offset),
        }));
      },
      patience,
    );
  }

  /** Retries with new connections while the brokers are away. */
  private async ask<T>(
    what: string,
    question: (cluster: Brokers) => Promise<T>,
    patience = PATIENCE_MS,
  ): Promise<T> {
    const { clock } = this.client;
    for (const end = clock.now() + patience; ; await this.client.delay(PAUSE)) {
      if (this.closed) throw new KqError('KQ_CLOSED', `${what}: the client is closed`);
      try {
        const answer = await detached(async () => question(await this.connected())); // its connections outlive the call
        this.client.reportBack();
        return answer;
      } catch (error) {
        const failure = meant(error, what);
        if (failure.code !== 'KQ_AWAY' && failure.code !== 'KQ_REFUSED') throw failure;
        // Not awaited: a hung broker would block this, too.
        this.drop().catch((thrown: unknown) => this.client.log.debug(`cannot disconnect: ${String(thrown)}`));
        if (failure.code === 'KQ_REFUSED' || clock.now() > end) throw failure;
      }
    }
  }

  private async connected(): Promise<Brokers> {
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

async function about(topics: readonly string[], broker: Broker): Promise<TopicInfo[]> {
  const { topicMetadata } = await broker.metadata([...topics]);
  return topicMetadata.map(infoOf);
}

/** Returns the cluster behind a client, which kafkajs exposes only to the assigners of a consumer. */
function clusterOf(client: KafkajsClient, ended: () => boolean): Brokers {
  let found: Brokers | undefined;
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
  if (!found) throw new Error('this version of kafkajs passes no cluster to an assigner');
  return found;
}

/**
 * Returns the messages of one partition as a member gets them, without aborted transactions. kafkajs' types omit the response.
 */
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
