/** Requests to the brokers by Confluent's admin client, and by consumers outside of any group for what that can't do. */
import { detached } from 'nest-handlers/context';
import { KqError, toError } from '../../errors.js';
import type { BrokerClient } from '../broker-client.js';
import {
  Cluster,
  PATIENCE_MS,
  type At,
  type NewTopic,
  type PartitionInfo,
  type TopicInfo,
} from '../cluster.js';
import type { PartitionOffset } from '../message.js';
import {
  called,
  disconnected,
  type ConfluentAdminClient,
  type ConfluentError,
  type ConfluentMetadata,
  type ConfluentModule,
  type DescribedGroups,
  type DescribedTopic,
  type FoundOffset,
  type GroupOffsets,
} from './confluent-api.js';
import { adminConfig, outsiderConfig } from './confluent-config.js';
import { asThrown, isNoGroup, isRebalancing, isThere, meant, ofEvent } from './confluent-errors.js';
import { ConfluentReader } from './confluent-reader.js';

const PAUSE = 100;
/** Time limits of one call in ms: no shorter, since it may have to connect first, and no longer, since all others wait for it. */
const CALL = { least: 2_000, most: 5_000 };
/** Time limit for creating a topic. */
const CREATION_MS = 30_000;

/** librdkafka's codes for requested offsets. */
const FIRST = -2;
const END = -1;
const READ_COMMITTED = 1;

type Question<T> = (admin: ConfluentAdminClient, timeout: number) => Promise<T>;

export class ConfluentCluster extends Cluster {
  private admin: Admin | undefined;
  private readonly reader: ConfluentReader;
  private retiring: Promise<unknown> = Promise.resolve();
  private closed = false;

  constructor(
    client: BrokerClient,
    private readonly module: ConfluentModule,
  ) {
    super(client);
    this.reader = new ConfluentReader(client, module);
  }

  async reach(patience: number): Promise<void> {
    await this.all(patience);
  }

  async all(patience?: number): Promise<readonly TopicInfo[]> {
    const { topics } = await this.ask(
      'cannot list topics',
      (admin, timeout) =>
        called<ConfluentMetadata>((done) => admin.getMetadata({ allTopics: true, timeout }, done)),
      patience,
    );
    return topics
      .filter(({ partitions }) => partitions.length > 0)
      .map(({ name, partitions }) => ({
        topic: name,
        partitions: sorted(
          partitions.map(({ id, leader, replicas }) => ({
            partition: id,
            leader,
            replicas: replicas.length,
          })),
        ),
      }));
  }

  async describe(topics: readonly string[], patience?: number): Promise<readonly TopicInfo[]> {
    if (topics.length === 0) return [];
    const answers = await this.ask(
      'cannot describe topics',
      (admin, timeout) =>
        called<readonly DescribedTopic[]>((done) => admin.describeTopics(topics, { timeout }, done)),
      patience,
    );
    return answers.map(({ name, error, partitions }) => {
      if (error) {
        const refused = meant(error, '').code === 'KQ_REFUSED';
        return { topic: name, error: refused ? 'refused' : 'unknown', partitions: [] };
      }
      const known = partitions.map(({ partition, leader, replicas }) => ({
        partition,
        leader: leader?.id ?? -1,
        replicas: replicas.length,
      }));
      return { topic: name, partitions: sorted(known) };
    });
  }

  async readFrom(topic: string, partition: number, offset: bigint, maxBytes: number) {
    await this.withPartitions(topic, [partition]);
    const what = `cannot read offset ${offset} of ${topic}/${partition}`;
    const read = await this.trying(what, () => this.reader.read({ topic, partition }, offset, maxBytes));
    return read ?? this.readNothing(topic, partition, offset);
  }

  async committed(group: string, topic: string) {
    const partitions = await this.partitions(topic);
    const asked = partitions.map(({ partition }) => ({ topic, partition }));
    const what = `cannot read the offsets of group ${group}`;
    const found = await this.ask(what, async (admin, timeout) => {
      const groups = [{ groupId: group, partitions: asked }];
      const [answer] = await called<readonly GroupOffsets[]>((done) =>
        admin.listConsumerGroupOffsets(groups, { timeout }, done),
      );
      if (answer?.error) throw answer.error;
      return offsetsOf(answer?.partitions ?? []);
    });
    return partitions.map(({ partition }) => {
      const { offset = -1n } = found.find((each) => each.partition === partition) ?? {};
      return { partition, offset: offset >= 0n ? offset : undefined };
    });
  }

  async setCommitted(group: string, topic: string, offsets: readonly PartitionOffset[]): Promise<void> {
    await this.withPartitions(
      topic,
      offsets.map(({ partition }) => partition),
    );
    const what = `cannot set the offsets of group ${group}`;
    const members = await this.ask(what, async (admin, timeout) => {
      const { groups } = await called<DescribedGroups>((done) =>
        admin.describeGroups([group], { timeout }, done),
      );
      const error = groups[0]?.error;
      if (error && !isNoGroup(error)) throw error;
      return error ? 0 : (groups[0]?.members.length ?? 0);
    });
    if (members > 0) throw busy(group, `${members} member${members === 1 ? '' : 's'}`);
    const places = offsets.map(({ partition, offset }) => ({ topic, partition, offset: Number(offset) }));
    await this.trying(what, async () => {
      const consumer = new this.module.KafkaConsumer(outsiderConfig(this.client.settings, group));
      consumer.on('error', (error) => this.client.log.debug(`${what}: ${error.message}`));
      try {
        await called((done) => consumer.connect({ allTopics: false, timeout: CALL.most }, done));
        await called((done) => consumer.commitCb(places, done));
      } catch (error) {
        throw isRebalancing(error) ? busy(group, 'a member') : error;
      } finally {
        await disconnected(consumer);
      }
    });
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.reader.close();
    this.drop(this.admin);
    await this.retiring;
  }

  protected async create(topics: readonly NewTopic[]): Promise<void> {
    for (const { topic, partitions, replicas, config } of topics) {
      const asked = { topic, num_partitions: partitions, replication_factor: replicas, config };
      await this.ask(`cannot create ${topic}`, async (admin) => {
        try {
          await called((done) => admin.createTopic(asked, CREATION_MS, done));
        } catch (error) {
          if (!isThere(error)) throw error;
        }
      });
    }
  }

  protected async offsets(
    topic: string,
    partitions: readonly number[],
    at: At,
    patience?: number,
  ): Promise<PartitionOffset[]> {
    const timestamp = typeof at === 'number' ? at : at === 'first' ? FIRST : END;
    const asked = partitions.map((partition) => ({ topic, partition, offset: { timestamp } }));
    return this.ask(
      `cannot read the offsets of topic ${topic}`,
      async (admin, timeout) => {
        const options = { timeout, isolationLevel: READ_COMMITTED };
        return offsetsOf(
          await called<readonly FoundOffset[]>((done) => admin.listOffsets(asked, options, done)),
        );
      },
      patience,
    );
  }

  private ask<T>(what: string, question: Question<T>, patience = PATIENCE_MS): Promise<T> {
    const end = this.client.clock.now() + patience;
    const timeout = () => Math.min(Math.max(end - this.client.clock.now(), CALL.least), CALL.most);
    return this.trying(what, () => this.call((admin) => question(admin, timeout())), end);
  }

  /** Retries while the brokers are away. */
  private async trying<T>(
    what: string,
    call: () => Promise<T>,
    end = this.client.clock.now() + PATIENCE_MS,
  ): Promise<T> {
    const { client } = this;
    for (; ; await client.delay(PAUSE)) {
      if (this.closed) throw new KqError('KQ_CLOSED', `${what}: the client is closed`);
      try {
        const answer = await detached(call); // its connections outlive the call
        client.reportBack();
        return answer;
      } catch (error) {
        const failure = meant(error, what);
        if (failure.code !== 'KQ_AWAY') throw failure;
        client.reportAway(this.admin?.reason ?? toError(error).message);
        if (client.clock.now() > end) throw failure;
      }
    }
  }

  private async call<T>(question: (admin: ConfluentAdminClient) => Promise<T>): Promise<T> {
    const admin = (this.admin ??= new Admin(this.module, this.client));
    try {
      return await admin.call(question);
    } finally {
      if (admin.isRefused) this.drop(admin); // the next call logs in again
    }
  }

  private drop(admin: Admin | undefined): void {
    if (!admin || this.admin !== admin) return;
    this.admin = undefined;
    this.retiring = Promise.all([this.retiring, admin.retire()]);
  }
}

/** One login. */
class Admin {
  /** No other call would fare better, for example after a wrong password. */
  isRefused = false;
  /** The last call failed. */
  private isDoubtful = false;
  private readonly client: ConfluentAdminClient;
  private readonly refused: Promise<never>;
  private last: Promise<unknown> = Promise.resolve();
  /** The last error of a failed connection. */
  reason: string | undefined;
  private refusals = 0;
  private refuse!: (error: Error) => void;

  constructor(module: ConfluentModule, { settings, log }: BrokerClient) {
    this.refused = new Promise((_, reject) => (this.refuse = reject));
    this.refused.catch(() => undefined); // it may reject while no call is pending
    const note = (given: Error) => {
      this.reason = given.message;
      log.debug(`Confluent's client: ${given.message}`);
      if (given instanceof KqError) this.note(asThrown(given), 1);
      else this.note(ofEvent(given as ConfluentError), 2);
    };
    this.client = module.AdminClient.create(adminConfig(settings), { 'event.error': note, error: note });
  }

  /** Runs after earlier calls, but stops waiting once the brokers have refused this login. */
  async call<T>(question: (admin: ConfluentAdminClient) => Promise<T>): Promise<T> {
    const before = this.last;
    const answer = (async () => {
      await before;
      if (this.isRefused) return this.refused;
      if (this.isDoubtful) await this.lookAround();
      return question(this.client);
    })();
    // The caller gets the error.
    this.last = answer.then(
      () => (this.isDoubtful = false),
      () => (this.isDoubtful = true),
    );
    const known = await Promise.race([answer, this.refused]);
    this.refusals = 0;
    return known;
  }

  /** Never rejects. */
  async retire(): Promise<void> {
    await this.last; // disconnecting would block the process until a pending call ends
    this.client.disconnect();
  }

  /** Refreshes metadata: most calls go to the controller, and the client would ask a dead one forever. Never rejects. */
  private async lookAround(): Promise<void> {
    const options = { allTopics: true, timeout: CALL.least } as const;
    await called((done) => this.client.getMetadata(options, done)).catch(() => undefined); // the next call reports it
  }

  /** @param least Number of such errors needed: a connection cut during login looks like a refusal, once. */
  private note(error: Error, least: number): void {
    if (meant(error, '').code === 'KQ_AWAY' || ++this.refusals < least) return;
    this.isRefused = true;
    this.refuse(error);
  }
}

/** Returns the offsets; throws the error of a partition that has one. */
function offsetsOf(found: readonly FoundOffset[]): PartitionOffset[] {
  return found.map(({ partition, offset, error }) => {
    if (error) throw error;
    return { partition, offset: BigInt(offset) };
  });
}

function sorted<Each extends Pick<PartitionInfo, 'partition'>>(partitions: readonly Each[]): Each[] {
  return partitions.toSorted((a, b) => a.partition - b.partition);
}

function busy(group: string, what: string): KqError {
  return new KqError('KQ_GROUP_BUSY', `the group ${group} has ${what}: expected none`);
}
