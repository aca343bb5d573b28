/** One kafkajs consumer, from its first join until it leaves or crashes. */
import kafkajs from 'kafkajs';
import type { Cluster, Consumer, EachBatchPayload } from 'kafkajs';
import type { Timer } from 'nest-handlers/time';
import type { KqError } from '../../errors.js';
import { hasLeader, type Cluster as BrokerCluster } from '../cluster.js';
import { Drain } from '../drain.js';
import { DRAIN_SHARE, REBALANCE_TIMEOUT, SESSION_TIMEOUT, type MemberHandler } from '../driver.js';
import type { GroupMembership, MembershipOptions } from '../group-member.js';
import type { GroupOffset, TopicPartition } from '../message.js';
import { StartAtEnd } from '../start-at-end.js';
import { type KafkajsClient, LONG_RETRY } from './kafkajs-client.js';
import { isExpelled, isRebalancing, isSharingOut, meant } from './kafkajs-errors.js';
import { eachBroker } from './cluster-brokers.js';
import type { FetchedMessage } from './fetch-answers.js';
import { stableOffsets, type Coordinator, type Heartbeat, type KafkajsIdentity } from './group-requests.js';
import { leaveOnceDead } from './lost-coordinator.js';
import { fetchPartially } from './partial-fetches.js';
import { lostBefore, type Reading } from './reading.js';
import { Readings, type FoundOffsets } from './readings.js';
import { nameMember } from './static-member.js';
import { stickyAssigner } from './sticky-assigner.js';
import { takeMessage, writeOffsets } from './wording.js';

export interface MemberContext {
  readonly client: KafkajsClient;
  readonly cluster: BrokerCluster;
}

/** How long a broker holds a fetch it has nothing for; a resumed partition waits for that. */
const MAX_WAIT_MS = 250;
/** Delay before a member asks for its offsets again while a transaction is about to move them. */
const UNSTABLE_PAUSE_MS = 50;
const MAX_AT_ONCE = 100;
const START_PAUSE_MS = 200;
const LOOK_EVERY_MS = 1_000;
/** How long a broker may not know a topic that another one knows. */
const NEW_TOPIC_MS = 5_000;
const NEW_TOPIC_PAUSE_MS = 100;

type Commit = EachBatchPayload['commitOffsetsIfNecessary'];

export class Membership implements GroupMembership {
  private readonly consumer: Consumer;
  private cluster!: Cluster;
  private looking: Timer | undefined;
  private readonly readings: Readings;
  private readonly startAtEnd: StartAtEnd | undefined;
  private memberId = '';
  private generationId = -1;
  /** Undefined before the first assignment. */
  private sign: Heartbeat | undefined;
  /** Time of the request for its last assignment. */
  private sharedAt = 0;
  /** Join requests since the last assignment. */
  private joins = 0;
  private commitNow: Commit | undefined;
  /** Whether its partitions are its own: from an assignment until it asks to rejoin. */
  private stays = false;
  /** Set during a rebalance. */
  private drain: Drain | undefined;
  private readonly sessionTimeout: number;
  private readonly heartbeatInterval: number;
  private readonly rebalanceTimeout: number;
  private over = false;
  /** The group keeps its partitions for it. */
  private returns = false;
  /** Set until the first join. */
  private starting: { resolve(): void; reject(error: unknown): void } | undefined;

  constructor(
    private readonly context: MemberContext,
    private readonly options: MembershipOptions,
    private readonly handler: MemberHandler,
    private readonly crashed: (error: KqError) => void,
  ) {
    const { client, cluster } = context;
    const { group, sessionTimeout = SESSION_TIMEOUT, rebalanceTimeout = REBALANCE_TIMEOUT } = options;
    const heartbeatInterval = options.heartbeatInterval ?? Math.min(sessionTimeout, rebalanceTimeout) / 10;
    this.sessionTimeout = sessionTimeout;
    this.rebalanceTimeout = rebalanceTimeout;
    this.heartbeatInterval = heartbeatInterval;
    const use = { retries: LONG_RETRY.retries, ended: () => this.over };
    this.consumer = client.kafka(use).consumer({
      groupId: group,
      sessionTimeout,
      rebalanceTimeout,
      heartbeatInterval,
      maxWaitTimeInMs: MAX_WAIT_MS,
      allowAutoTopicCreation: false,
      // Ours comes first; the other one is for groups that still have plain kafkajs consumers.
      partitionAssigners: [
        (given) => {
          this.cluster = given.cluster;
          fetchPartially(given.cluster, client, options.fetchBytes);
          eachBroker<Coordinator>(given.cluster, (broker) => this.watch(broker));
          return stickyAssigner(this)(given);
        },
        kafkajs.PartitionAssigners.roundRobin,
      ],
      // After a crash we restart it ourselves: kafkajs does so only after some errors.
      retry: { ...LONG_RETRY, restartOnFailure: async () => false },
    });
    this.readings = new Readings(this.consumer, client.clock, heartbeatInterval);
    const { from, fromFirst } = options;
    if (from === 'last')
      this.startAtEnd = new StartAtEnd(
        client,
        cluster,
        group,
        (ends) => this.consumer.commitOffsets(ends.map((each) => ({ ...each, offset: String(each.offset) }))),
        fromFirst,
      );
    const { GROUP_JOIN, HEARTBEAT, CRASH, START_BATCH_PROCESS } = this.consumer.events;
    this.consumer.on(HEARTBEAT, () => client.reportBack());
    this.consumer.on(GROUP_JOIN, ({ payload }) => this.join(payload.memberId, payload.memberAssignment));
    this.consumer.on(CRASH, ({ payload }) => this.crash(payload.error));
    this.consumer.on(START_BATCH_PROCESS, ({ payload }) => {
      const { topic, partition, batchSize, lastOffset, highWatermark } = payload;
      if (batchSize === 0) this.skip({ topic, partition }, BigInt(lastOffset) + 1n, BigInt(highWatermark));
    });
  }

  async start(): Promise<void> {
    const joined = new Promise<void>((resolve, reject) => (this.starting = { resolve, reject }));
    try {
      await this.run();
      await joined;
    } catch (error) {
      throw this.failureOf(error);
    }
  }

  async stop(returns = false): Promise<void> {
    this.returns = returns && this.options.groupInstanceId !== undefined;
    this.end();
    await this.leave();
  }

  pause(place: TopicPartition): void {
    this.readings.pause(place);
  }

  resume(place: TopicPartition): void {
    this.readings.resume(place);
  }

  async commit(offsets: readonly GroupOffset[]): Promise<boolean> {
    if (!this.stays) return false;
    const own = offsets.filter((each) => this.readings.owns(each));
    if (own.length === 0) return true;
    try {
      // Not the consumer's own `commitOffsets`, which retries failures of one generation in the next.
      if (this.commitNow) await this.commitNow(writeOffsets(own));
      else await this.consumer.commitOffsets(own.map((each) => ({ ...each, offset: String(each.offset) })));
      return true;
    } catch (error) {
      if (isRebalancing(error)) return false;
      throw meant(error, `cannot commit offsets of group ${this.options.group}`);
    }
  }

  get identity(): KafkajsIdentity | undefined {
    const { stays, memberId, generationId } = this;
    return stays ? { group: this.options.group, memberId, generationId } : undefined;
  }

  owned(): readonly TopicPartition[] {
    return this.readings.owned();
  }

  joining(): void {
    this.joins++;
    this.rejoin();
  }

  /** Stops batches; current runs may end. No effect once it has begun. */
  private rejoin(): void {
    if (this.drain || this.over) return;
    this.readings.end();
    const { clock } = this.context.client;
    this.drain = new Drain(this.handler.rejoining(), clock, DRAIN_SHARE * this.rebalanceTimeout);
    if (!this.stays) this.drain.stop();
  }

  /** Others have its partitions, or will. */
  private expelled(error: unknown): void {
    if (!this.stays) return;
    this.stays = false;
    this.rejoin();
    this.drain?.stop();
    const { group } = this.options;
    this.handler.failed(meant(error, `this process was removed from the group ${group}`), 0);
  }

  unseen(topic: string, error: unknown): void {
    const { log } = this.context.client;
    log.warn(
      `group ${this.options.group}: topic ${topic} has no consumer now: ${meant(error, 'it is not visible').message}`,
    );
  }

  /** The only place where kafkajs exposes the generation; also fixes its reads of offsets that a transaction is about to move. */
  private watch(coordinator: Coordinator): void {
    leaveOnceDead(coordinator);
    const sync = coordinator.syncGroup.bind(coordinator);
    const { clock } = this.context.client;
    const { groupInstanceId } = this.options;
    const named = () => groupInstanceId !== undefined && nameMember(coordinator, groupInstanceId);
    coordinator.syncGroup = async (request) => {
      named();
      const { generationId, memberId } = request;
      this.generationId = generationId;
      this.sign = { groupId: this.options.group, groupGenerationId: generationId, memberId };
      this.sharedAt = clock.now();
      return sync(request);
    };
    const beat = coordinator.heartbeat.bind(coordinator);
    coordinator.heartbeat = async (sign) => {
      const sentAt = clock.now();
      try {
        named();
        const answer = await beat(sign);
        this.confirm(sentAt);
        return answer;
      } catch (error) {
        if (sign.groupGenerationId === this.generationId) this.refused(error, sentAt);
        throw error;
      }
    };
    const join = coordinator.joinGroup.bind(coordinator);
    coordinator.joinGroup = async (request) => {
      await this.drain?.wait(this.heartbeatInterval, () => this.beatWhileDraining(coordinator));
      if (this.over) throw new Error('it has left the group');
      this.stays = false;
      named();
      return join(request);
    };
    const leave = coordinator.leaveGroup.bind(coordinator);
    coordinator.leaveGroup = async (request) => (this.returns ? undefined : leave(request));
    const fetch = coordinator.offsetFetch.bind(coordinator);
    coordinator.offsetFetch = async (request) => {
      for (;;) {
        const offsets = await stableOffsets(coordinator, request, () => fetch(request));
        if (offsets) {
          this.readings.found(offsets as FoundOffsets);
          return offsets;
        }
        await this.context.client.delay(UNSTABLE_PAUSE_MS);
        if (this.sign) await coordinator.heartbeat(this.sign);
      }
    };
  }

  /** The group has answered a request sent at that time. */
  private confirm(sentAt: number): void {
    // A rebalancing group waits that long even for a member that doesn't know of it.
    if (!this.over) this.handler.confirmed(sentAt + Math.min(this.sessionTimeout, this.rebalanceTimeout));
  }

  private refused(error: unknown, sentAt: number): void {
    if (isExpelled(error)) return this.expelled(error);
    if (!isSharingOut(error)) return;
    this.confirm(sentAt);
    this.rejoin();
  }

  /** Errors are known already, or handled by the join that follows. */
  private async beatWhileDraining(coordinator: Coordinator): Promise<void> {
    try {
      if (this.sign) await coordinator.heartbeat(this.sign);
    } catch (error) {
      const { log } = this.context.client;
      log.debug(meant(error, `while draining in the group ${this.options.group}`).message);
    }
  }

  private join(memberId: string, assignment: Readonly<Record<string, readonly number[]>>): void {
    if (this.over) {
      // kafkajs starts to read even though it was stopped while joining.
      this.context.client.clock.soon(() => void this.leave());
      return;
    }
    // After a single join, nobody else can have had the partitions that stay. After more, somebody may have had them in between.
    const continued = memberId === this.memberId && this.joins === 1;
    this.memberId = memberId;
    this.joins = 0;
    this.drain = undefined;
    this.stays = true;
    const places = Object.entries(assignment).flatMap(([topic, partitions]) =>
      partitions.toSorted((a, b) => a - b).map((partition) => ({ topic, partition })),
    );
    void this.beginReading(this.readings.assign(places));
    this.handler.assigned(places, continued);
    this.confirm(this.sharedAt); // not earlier: that would confirm the previous assignment
  }

  private async beginReading(readings: readonly Reading[]): Promise<void> {
    const unsure = readings.filter(({ topic }) => this.startAtEnd?.isUnsure(topic));
    for (const reading of unsure) this.readings.starts(reading);
    // Topics are independent: if one can't be queried, the others start regardless.
    const topics = new Set(unsure.map(({ topic }) => topic));
    await Promise.all(
      Array.from(topics, async (topic) => {
        const waiting = unsure.filter((each) => each.topic === topic);
        const current = () => this.readings.of(waiting[0]!) === waiting[0];
        await this.settle(topic, waiting, current);
        if (!current()) return; // left to the next assignment
        for (const reading of waiting) this.readings.started(reading);
      }),
    );
    if (!unsure.every((each) => this.readings.of(each) === each)) return;
    this.starting?.resolve();
    this.starting = undefined;
  }

  /** Retries until it succeeds or is no longer `current`. */
  private async settle(topic: string, waiting: readonly Reading[], current: () => boolean): Promise<void> {
    const { client } = this.context;
    for (; current(); await client.delay(START_PAUSE_MS)) {
      try {
        for (const { partition, offset } of await this.startAtEnd!.settle(topic, current))
          if (waiting.some((each) => each.partition === partition))
            this.consumer.seek({ topic, partition, offset: String(offset) });
        return;
      } catch (error) {
        client.log.debug(meant(error, `cannot find the end offsets for group ${this.options.group}`).message);
      }
    }
  }

  private async take(payload: EachBatchPayload): Promise<void> {
    this.commitNow = (offsets) => payload.commitOffsetsIfNecessary(offsets);
    const reading = this.readings.of(payload.batch);
    // Unresolved messages are fetched again.
    if (!reading || reading.paused || reading.starting || !reading.accepts(payload.batch)) return;
    this.read(reading, payload); // a separate call: the wait below must not retain messages
    await this.readings.waitWhilePaused(reading, () => payload.heartbeat());
  }

  private read(reading: Reading, payload: EachBatchPayload): void {
    const { batch } = payload;
    const { topic, partition } = reading;
    const next = BigInt(batch.lastOffset()) + 1n;
    const lost = lostBefore(batch, this.readings.nextOf(reading));
    const messages = (batch.messages as unknown as FetchedMessage[]).map(takeMessage);
    reading.position = next;
    // Immediately, since after a rejoin it would move the new position.
    payload.resolveOffset(batch.lastOffset());
    const end = BigInt(batch.highWatermark);
    this.readings.deliver(reading, () =>
      this.handler.batch({ topic, partition, messages, next, end, ...(lost && { lost }) }),
    );
  }

  /** Skips a batch of only transaction markers or messages of aborted transactions, which kafkajs doesn't deliver. */
  private skip(place: TopicPartition, next: bigint, end: bigint): void {
    const reading = this.readings.of(place);
    if (!reading || reading.paused || reading.starting) return;
    reading.position = next;
    this.handler.batch({ ...place, messages: [], next, end });
  }

  /** Waits until the broker it asks knows all topics another broker has reported. */
  private async knowAll(): Promise<void> {
    const { clock } = this.context.client;
    for (const end = clock.now() + NEW_TOPIC_MS; this.lacksTopic && clock.now() < end;) {
      await this.context.client.delay(NEW_TOPIC_PAUSE_MS);
      await this.cluster.refreshMetadata();
    }
  }

  /** Refreshes its topics once a second while something is missing; kafkajs itself does so every five minutes. */
  private lookAgain(): void {
    if (this.over) return;
    const { client } = this.context;
    this.looking = client.clock.after(LOOK_EVERY_MS, () => {
      const asking = this.lacksSome ? this.cluster.refreshMetadata() : Promise.resolve();
      asking
        .catch((error: unknown) => client.log.debug(meant(error, 'cannot check the topics').message))
        .finally(() => this.lookAgain());
    });
  }

  private async run(): Promise<void> {
    const { topics } = this.options;
    await this.consumer.connect();
    await this.consumer.subscribe({ topics: [...topics], fromBeginning: true });
    if (this.options.missing !== 'wait') await this.knowAll();
    this.lookAgain();
    await this.consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: MAX_AT_ONCE,
      eachBatch: (payload) => this.take(payload),
    });
  }

  private failureOf(error: unknown): KqError {
    return meant(error, `the member of group ${this.options.group} failed`);
  }

  private get lacksTopic(): boolean {
    return this.options.topics.some((topic) => this.partitionsOf(topic).length === 0);
  }

  private get lacksSome(): boolean {
    const isLed = (topic: string) => this.partitionsOf(topic).every(hasLeader);
    return this.lacksTopic || !this.options.topics.every(isLed);
  }

  private partitionsOf(topic: string) {
    return this.cluster.findTopicPartitionMetadata(topic);
  }

  private crash(error: unknown): void {
    this.end();
    if (this.starting) this.starting.reject(error);
    else this.crashed(this.failureOf(error));
  }

  private async leave(): Promise<void> {
    try {
      await this.consumer.disconnect();
    } catch (error) {
      this.context.client.log.debug(meant(error, `cannot leave group ${this.options.group}`).message);
    }
  }

  private end(): void {
    this.over = true;
    this.stays = false;
    this.looking?.cancel();
    this.readings.end();
    this.drain?.stop();
  }
}
