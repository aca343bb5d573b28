import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { Kafka, logLevel, type Admin, type ITopicConfig } from 'kafkajs';
import type { KqOptions } from 'nest-kq';
import {
  findConfluent,
  startBeanstalkd,
  startKafka,
  startKafkaCluster,
  startRedis,
  type BeanstalkdServer,
  type KafkaServer,
  type RedisServer,
} from 'test-servers';
import { createTopic } from 'test-servers/kafka-topic';
import { copiesOn } from '../lab.js';
import { LoggedProcess } from '../logged-process.js';
import { newFolder, Workplace, type LabSettings } from '../workplace.js';
import type { Cause } from './causes.js';
import { check, type StreamFindings } from './checker.js';
import { StreamHistory } from './history.js';
import type { StreamLine } from './log.js';
import type { Order, StreamArguments } from './programs.js';
import { NUMBERS } from './topic.js';

export type StreamProcess = LoggedProcess<StreamLine>;

const GROUP = 'readers';
/** The topic in which Kafka keeps what groups have committed. */
const OFFSETS = '__consumer_offsets';
const PARTITIONS = 6;
/** Where messages go that no handler can read, by default. */
const DEAD = `${NUMBERS.name}.${GROUP}.kq-dead`;
const KEYS = 30;
const NODES = 3;
/** Milliseconds; the shortest that nest-kq takes. */
const SESSION = 6_000;
const COMMIT_EVERY = 100;
/** Milliseconds. A commit of a busy machine may take so long. */
const COMMIT_LIMIT = 2_000;
/** Milliseconds that a push may wait for its brokers. */
const PATIENCE = 120_000;

/** The brokers, the producer and the consumer processes of one experiment, and the outside log of all of them. */
export class StreamLab extends Workplace {
  readonly history = new StreamHistory();
  /** In the order of their starts. The dead ones stay in the list, because their logs count. */
  readonly consumers: StreamProcess[] = [];
  /** Events so far after which messages may run again. */
  readonly causes: Cause[] = [];
  readonly session = SESSION;
  private servers: readonly KafkaServer[] = [];
  private dq: { readonly redis: RedisServer; readonly nodes: readonly BeanstalkdServer[] } | undefined;
  private connected: Admin | undefined;
  private otherTopic: ITopicConfig | undefined;
  private producer: StreamProcess | undefined;
  private pushed = false;
  /** Handlers have no options for failures. */
  plain = false;
  /** See `StreamArguments`. */
  private client: string | undefined;
  private startedConsumers = 0;

  /** Starts no server and no process. */
  static async open(settings: LabSettings): Promise<StreamLab> {
    const lab = new StreamLab(settings, await newFolder(settings));
    if (settings.confluent) lab.client = findConfluent();
    return lab;
  }

  /**
   * Starts one broker or three, with a topic that has as many replicas, a producer, and consumers in a group. With `otherTopic`, they
   * read that topic, too.
   */
  async begin(
    consumers: number,
    brokers: 1 | 3 = 1,
    {
      otherTopic,
      partitions = PARTITIONS,
    }: { readonly otherTopic?: ITopicConfig; readonly partitions?: number } = {},
  ): Promise<void> {
    this.servers = await (brokers === 1 ? startKafka().then((one) => [one]) : startKafkaCluster());
    for (const server of this.servers) await this.owned(server);
    this.connected = this.kafka.admin();
    this.closing.push(() => this.connected?.disconnect());
    await this.connected.connect();
    const topic = { topic: NUMBERS.name, numPartitions: partitions, replicationFactor: brokers };
    await createTopic(this.endpoints, topic);
    this.otherTopic = otherTopic;
    if (otherTopic) await createTopic(this.endpoints, otherTopic);
    const how: StreamArguments = { name: 'producer', options: this.options('producer') };
    this.producer = await this.start('streams/producer/main.js', how);
    await Promise.all(Array.from({ length: consumers }, () => this.startConsumer()));
    if (consumers > 0) await this.settledWith('at the start', this.consumers);
  }

  /** Starts the servers of a nest-dq, through which the failures of all consumers will go. Comes before `begin`. */
  async startDq(): Promise<RedisServer> {
    const starting = Array.from({ length: NODES }, () => this.owned(startBeanstalkd()));
    const redis = await this.owned(startRedis());
    this.dq = { redis, nodes: await Promise.all(starting) };
    return redis;
  }

  /** The copies of jobs that the nodes of nest-dq have. */
  async copiesLeft(): Promise<number> {
    const counts = await Promise.all((this.dq?.nodes ?? []).map(copiesOn));
    return counts.reduce<number>((sum, count) => sum + (count ?? Infinity), 0);
  }

  get brokers(): readonly KafkaServer[] {
    return this.servers;
  }

  /** Client for the experiment's own requests to the brokers. */
  get admin(): Admin {
    if (!this.connected) throw new Error('the servers of this lab were not started');
    return this.connected;
  }

  /** Resolves when the consumer consumes. */
  async startConsumer(): Promise<StreamProcess> {
    const name = `consumer-${++this.startedConsumers}`;
    const { dq, plain } = this;
    const joint = dq && { beanstalks: dq.nodes.map(({ endpoint }) => endpoint), redis: dq.redis.url };
    const options = { ...this.options(name), group: GROUP };
    const { otherTopic, client } = this;
    const how: StreamArguments = {
      name,
      options,
      plain,
      ...(client !== undefined && { client }),
      ...(joint && { dq: joint }),
      ...(otherTopic && { otherTopic: otherTopic.topic }),
    };
    const consumer = await this.start('streams/consumer/main.js', how);
    this.consumers.push(consumer);
    return consumer;
  }

  /**
   * Lets the producer push all messages, evenly over `over` ms. The handlers of a key take `load` of its time: half of it, so
   * that messages often wait for one of their key; above 1 the consumers fall behind.
   */
  push(over: number, load = 0.5, order: Partial<Order> = {}): void {
    const { producer } = this;
    if (!producer) throw new Error('the producer of this lab was not started');
    const between = (KEYS * over) / this.jobs; // two messages of a key
    producer.tell({ messages: this.jobs, keys: KEYS, over, work: load * between, ...order } satisfies Order);
    void producer.exited.then(() => (this.pushed = true));
  }

  /** Resolves once the producer has all its answers. */
  async allPushed(): Promise<void> {
    await this.eventually('all is pushed', () => this.pushed);
  }

  /** Stores what no handler can read, behind what was pushed before it; resolves with where, as `partition/offset`. */
  async pushPoison(key: string): Promise<string> {
    const producer = this.kafka.producer();
    await producer.connect();
    try {
      const [stored] = await producer.send({
        topic: NUMBERS.name,
        messages: [{ key, value: '{ "message": ' }],
      });
      return `${stored!.partition}/${stored!.baseOffset}`;
    } finally {
      await producer.disconnect();
    }
  }

  /** The origins of all dead letters of the group, as `partition/offset`, in no order. */
  async deadLetters(): Promise<readonly string[]> {
    const ends = await this.admin.fetchTopicOffsets(DEAD);
    const stored = ends.reduce((sum, { high }) => sum + Number(high), 0);
    const found: string[] = [];
    const consumer = this.kafka.consumer({ groupId: 'auditor' });
    await consumer.connect();
    try {
      await consumer.subscribe({ topics: [DEAD], fromBeginning: true });
      await consumer.run({
        eachMessage: async ({ message: { headers = {} } }) => {
          found.push(`${String(headers['kq-partition'])}/${String(headers['kq-offset'])}`);
        },
      });
      await this.eventually('all dead letters are read', () => found.length >= stored);
    } finally {
      await consumer.disconnect();
    }
    return found;
  }

  /** Does something after which messages may run again, until the group has settled with all consumers that live. */
  async changing(name: string, act: () => Promise<unknown>): Promise<void> {
    const from = Date.now();
    await act();
    const alive = this.consumers.filter((consumer) => consumer.alive);
    await this.settledWith(`after ${name}`, alive);
    this.causes.push({ name, from, until: Date.now() });
  }

  /** The group has just these members, and each has its partitions. */
  async settledWith(when: string, members: readonly StreamProcess[]): Promise<void> {
    const names = members.map(({ name }) => name).toSorted();
    await this.eventually(`the group settles ${when}`, async () => {
      const described = await this.admin.describeGroups([GROUP]).catch(() => undefined); // while the broker is away
      const group = described?.groups[0];
      const there = group?.members.map(({ clientId }) => clientId).toSorted();
      return group?.state === 'Stable' && there?.join() === names.join();
    });
  }

  /** Waits until `more` more messages are handled. */
  async handles(more: number): Promise<void> {
    const handled = () => this.history.handledMessages;
    const enough = Math.min(this.jobs, handled() + more);
    await this.eventually(`${more} more messages are handled`, () => handled() >= enough);
  }

  /** Waits until all is pushed and handled, and ends the consumers. If the limit ends first, the findings tell. */
  async settle(): Promise<StreamFindings> {
    try {
      await this.allPushed();
      await this.eventually('all is handled', () => this.history.open() === 0);
      await Promise.all(this.consumers.filter(({ alive }) => alive).map((each) => each.end('SIGTERM')));
    } catch (error) {
      this.signal.throwIfAborted();
      appendFileSync(join(this.folder, 'lab.output'), `${String(error)}\n`);
    }
    return this.findings();
  }

  findings(): StreamFindings {
    this.readOn();
    return check(this.history, {
      causes: this.causes,
      committedWithin: COMMIT_EVERY + COMMIT_LIMIT,
      overtaken: this.dq !== undefined,
    });
  }

  /** Stores a message in each of these partitions of the second topic. */
  async pushToOther(partitions: readonly number[]): Promise<void> {
    const kafka = new Kafka({ brokers: this.endpoints, clientId: 'other-topic', logLevel: logLevel.NOTHING });
    const producer = kafka.producer({ allowAutoTopicCreation: false });
    await producer.connect();
    try {
      const messages = partitions.map((partition) => ({ partition, value: 'other' }));
      await producer.send({ topic: this.otherTopic!.topic, messages });
    } finally {
      await producer.disconnect();
    }
  }

  /** Waits until the group has handled all of the second topic. */
  async handlesOther(): Promise<void> {
    const { topic } = this.otherTopic!;
    await this.eventually(`all of ${topic} is handled`, async () => (await this.lag(topic)) === 0);
  }

  /** The number of messages that the group has committed. */
  async committed(topic = NUMBERS.name): Promise<number> {
    let sum: number | undefined;
    await this.eventually('the coordinator of the group answers', async () => {
      try {
        const [committed] = await this.admin.fetchOffsets({ groupId: GROUP, topics: [topic] });
        sum = committed!.partitions.reduce((all, { offset }) => all + Math.max(0, Number(offset)), 0);
      } catch (error) {
        if (!passes(error)) throw error;
      }
      return sum !== undefined;
    });
    return sum!;
  }

  /** The number of messages that the group has not committed. */
  async lag(topic = NUMBERS.name): Promise<number> {
    const ends = await this.admin.fetchTopicOffsets(topic);
    return ends.reduce((sum, { high }) => sum + Number(high), 0) - (await this.committed(topic));
  }

  /** The broker that leads a partition now. */
  async leaderOf(topic: string, partition: number): Promise<KafkaServer> {
    const { topics } = await this.admin.fetchTopicMetadata({ topics: [topic] });
    const found = topics[0]?.partitions.find(({ partitionId }) => partitionId === partition);
    const leader = this.servers.find(({ nodeId }) => nodeId === found?.leader);
    if (!leader)
      throw new Error(`partition ${partition} of ${topic} has no leader: ${JSON.stringify(found)}`);
    return leader;
  }

  /** The broker that coordinates the group: it leads the partition of the offsets to which Kafka gives the group by its name. */
  async coordinator(): Promise<KafkaServer> {
    const { topics } = await this.admin.fetchTopicMetadata({ topics: [OFFSETS] });
    const hash = Buffer.from(GROUP).reduce((sum, byte) => (Math.imul(31, sum) + byte) | 0, 0);
    return this.leaderOf(OFFSETS, (hash & 0x7fff_ffff) % topics[0]!.partitions.length);
  }

  /** Rejects at once where a process has ended by itself: nobody would do what is waited for. */
  override eventually(what: string, condition: () => boolean | Promise<boolean>, limit?: number) {
    const look = () => {
      for (const { name, accident } of this.processes)
        if (accident !== undefined) throw new Error(`${name} exited unexpectedly: ${accident}`);
      return condition();
    };
    return super.eventually(what, look, limit);
  }

  /** Reads what is new in all logs. */
  override readOn(): void {
    for (const process of this.processes) for (const line of process.read()) this.history.add(line);
  }

  private get processes(): readonly StreamProcess[] {
    return [...(this.producer ? [this.producer] : []), ...this.consumers];
  }

  private get kafka(): Kafka {
    return new Kafka({ brokers: this.endpoints, clientId: 'lab', logLevel: logLevel.NOTHING });
  }

  private get endpoints(): string[] {
    return this.servers.map(({ endpoint }) => endpoint);
  }

  private options(name: string): KqOptions {
    return {
      brokers: this.endpoints,
      clientId: name,
      sessionTimeout: SESSION,
      commitEvery: COMMIT_EVERY,
      pusher: { patience: PATIENCE, buffer: { bytes: 2 ** 30 } }, // large messages come faster than they are stored
    };
  }

  private async start(program: string, how: StreamArguments): Promise<StreamProcess> {
    this.signal.throwIfAborted();
    const started = await LoggedProcess.start<StreamLine>(program, this.folder, how);
    this.closing.push(() => started.stop());
    return started;
  }
}

/** Returns whether an error of kafkajs passes: a broker cannot be reached, or has just become the coordinator and loads the group first. */
function passes(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ('retriable' in error && error.retriable === true) || passes(error.cause);
}
