/** One consumer of kafkajs, from its first join until it leaves or crashes. */
import kafkajs from 'kafkajs';
import type { Consumer, EachBatchPayload } from 'kafkajs';
import { keyOf } from '../assignment.js';
import type { MemberHandler, MemberIdentity, MemberOptions } from '../driver.js';
import type { GroupOffset, TopicPartition } from '../message.js';
import { Holds } from './holds.js';
import { type KafkajsClient, LONG_RETRY } from './kafkajs-client.js';
import type { KafkajsCluster } from './kafkajs-cluster.js';
import { isRebalancing, meant } from './kafkajs-errors.js';
import { eachBroker } from './cluster-brokers.js';
import { stableOffsets, type Coordinator, type KafkajsIdentity } from './group-requests.js';
import { leaveOnceDead } from './lost-coordinator.js';
import { Reading } from './reading.js';
import { StartAtEnd } from './start-at-end.js';
import { stickyAssigner } from './sticky-assigner.js';
import { readMessage, writeOffsets } from './wording.js';

export interface MemberContext {
  readonly client: KafkajsClient;
  readonly cluster: KafkajsCluster;
}

export interface MembershipOptions extends Omit<MemberOptions, 'topics'> {
  readonly topics: readonly string[];
}

export const SESSION_TIMEOUT = 30_000;
/** How long a broker holds a fetch for which it has nothing; a partition that is resumed waits for it. */
const MAX_WAIT = 250;
/** Milliseconds until a member asks again from where it goes on, while a transaction is about to say it. */
const UNSTABLE_PAUSE = 50;
/** How long a paused partition may hold up the others of its broker, before kafkajs pauses it, too. */
const SHORT_HOLD = 20;
const MOST_AT_ONCE = 100;

/** One stay in a group, by whatever client. */
export interface GroupMembership {
  /** Resolves once it has joined and reads. */
  start(): Promise<void>;
  /** Never rejects. */
  stop(): Promise<void>;
  pause(place: TopicPartition): void;
  resume(place: TopicPartition): void;
  commit(offsets: readonly GroupOffset[]): Promise<boolean>;
  readonly identity: MemberIdentity | undefined;
}

type Commit = EachBatchPayload['commitOffsetsIfNecessary'];

export class Membership implements GroupMembership {
  private readonly consumer: Consumer;
  private readonly holds: Holds;
  private readonly startAtEnd: StartAtEnd | undefined;
  private readonly heartbeatInterval: number;
  /** What it may read and commit now. Undefined: it joins, or has left. */
  private readings: Map<string, Reading> | undefined;
  /** What it had last, to be told to the group. */
  private readonly before = new Map<string, Reading>();
  private memberId = '';
  private generationId = -1;
  /** Asked for since the last assignment. */
  private joins = 0;
  private delivering: Reading | undefined;
  private commitNow: Commit | undefined;
  private over = false;
  /** Until it has joined for the first time. */
  private starting: { resolve(): void; reject(error: unknown): void } | undefined;

  constructor(
    private readonly context: MemberContext,
    private readonly options: MembershipOptions,
    private readonly handler: MemberHandler,
    private readonly crashed: (error: unknown) => void,
  ) {
    const { client, cluster } = context;
    const { group, sessionTimeout = SESSION_TIMEOUT } = options;
    this.heartbeatInterval = options.heartbeatInterval ?? sessionTimeout / 10;
    this.holds = new Holds(client.clock);
    const use = { retries: LONG_RETRY.retries, ended: () => this.over };
    this.consumer = client.kafka(use).consumer({
      groupId: group,
      sessionTimeout,
      heartbeatInterval: this.heartbeatInterval,
      maxWaitTimeInMs: MAX_WAIT,
      allowAutoTopicCreation: false,
      // Ours comes first; the other one is for a group in which there are still plain consumers of kafkajs.
      partitionAssigners: [
        (given) => {
          eachBroker<Coordinator>(given.cluster, (broker) => this.watch(broker));
          return stickyAssigner(this)(given);
        },
        kafkajs.PartitionAssigners.roundRobin,
      ],
      // After a crash it is we who begin anew: kafkajs does so only after some errors.
      retry: { ...LONG_RETRY, restartOnFailure: async () => false },
    });
    const { from, fromFirst } = options;
    if (from === 'last') this.startAtEnd = new StartAtEnd(client, cluster, group, this.consumer, fromFirst);
    const { GROUP_JOIN, HEARTBEAT, CRASH, START_BATCH_PROCESS } = this.consumer.events;
    this.consumer.on(HEARTBEAT, () => client.tellBack());
    this.consumer.on(GROUP_JOIN, ({ payload }) => this.join(payload.memberId, payload.memberAssignment));
    this.consumer.on(CRASH, ({ payload }) => this.crash(payload.error));
    this.consumer.on(START_BATCH_PROCESS, ({ payload }) => {
      const { topic, partition, batchSize, lastOffset, highWatermark } = payload;
      if (batchSize === 0) this.skip({ topic, partition }, BigInt(lastOffset) + 1n, BigInt(highWatermark));
    });
  }

  /** Resolves once it has joined and reads; rejects as kafkajs does. */
  async start(): Promise<void> {
    const { topics } = this.options;
    const joined = new Promise<void>((resolve, reject) => (this.starting = { resolve, reject }));
    await this.consumer.connect();
    await this.consumer.subscribe({ topics: [...topics], fromBeginning: true });
    await this.consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: MOST_AT_ONCE,
      eachBatch: (payload) => this.take(payload),
    });
    await joined;
  }

  /** Never rejects. */
  async stop(): Promise<void> {
    this.end();
    await this.leave();
  }

  pause(place: TopicPartition): void {
    const reading = this.readings?.get(keyOf(place));
    if (!reading || reading.paused) return;
    reading.paused = true;
    // The batch that is delivered now is held instead, as a pause of kafkajs takes a while to end.
    if (reading !== this.delivering) this.hold(reading);
  }

  resume(place: TopicPartition): void {
    const reading = this.readings?.get(keyOf(place));
    if (!reading?.paused) return;
    reading.paused = false;
    if (!reading.starting) this.release(reading);
    this.holds.wake();
  }

  async commit(offsets: readonly GroupOffset[]): Promise<boolean> {
    const { readings } = this;
    if (!readings) return false;
    const own = offsets.filter((each) => readings.has(keyOf(each)));
    if (own.length === 0) return true;
    try {
      // Not by the consumer's own `commitOffsets`: what fails in one generation, that tries again in the next.
      if (this.commitNow) await this.commitNow(writeOffsets(own));
      else await this.consumer.commitOffsets(own.map((each) => ({ ...each, offset: String(each.offset) })));
      return true;
    } catch (error) {
      if (isRebalancing(error)) return false;
      throw meant(error, `cannot commit offsets of group ${this.options.group}`);
    }
  }

  get identity(): KafkajsIdentity | undefined {
    const { memberId, generationId } = this;
    return this.readings && { group: this.options.group, memberId, generationId };
  }

  owned(): readonly TopicPartition[] {
    return [...this.before.values()].map(({ topic, partition }) => ({ topic, partition }));
  }

  joining(): void {
    this.joins++;
    if (this.joins > 1 || this.over) return;
    this.readings = undefined;
    this.holds.wake();
    this.handler.rejoining();
  }

  unseen(topic: string, error: unknown): void {
    const { log } = this.context.client;
    log.warn(
      `group ${this.options.group}: nobody gets topic ${topic} now: ${meant(error, 'it is not seen').message}`,
    );
  }

  /** kafkajs tells the generation nowhere else, and reads offsets which a transaction is about to move. */
  private watch(coordinator: Coordinator): void {
    leaveOnceDead(coordinator);
    const sync = coordinator.syncGroup.bind(coordinator);
    let sign: object = {};
    coordinator.syncGroup = (request) => {
      const { generationId, memberId } = request;
      this.generationId = generationId;
      sign = { groupId: this.options.group, generationId, memberId };
      return sync(request);
    };
    const fetch = coordinator.offsetFetch.bind(coordinator);
    coordinator.offsetFetch = async (request) => {
      for (;;) {
        const offsets = await stableOffsets(coordinator, request, () => fetch(request));
        if (offsets) return offsets;
        await this.context.client.delay(UNSTABLE_PAUSE);
        await coordinator.heartbeat(sign);
      }
    };
  }

  private join(memberId: string, assignment: Readonly<Record<string, readonly number[]>>): void {
    if (this.over) {
      // kafkajs begins to read although it was stopped while it joined.
      this.context.client.clock.soon(() => void this.leave());
      return;
    }
    // After one join, nobody else can have had what stays. After more, somebody may have had it in between.
    const continued = memberId === this.memberId && this.joins === 1;
    this.memberId = memberId;
    this.joins = 0;
    const places = Object.entries(assignment).flatMap(([topic, partitions]) =>
      partitions.toSorted((a, b) => a - b).map((partition) => ({ topic, partition })),
    );
    const readings = new Map<string, Reading>();
    for (const place of places) readings.set(keyOf(place), new Reading(place, this.before.get(keyOf(place))));
    for (const reading of this.before.values()) this.release(reading);
    this.before.clear();
    for (const [key, reading] of readings) this.before.set(key, reading);
    this.readings = readings;
    void this.beginReading([...readings.values()]);
    this.handler.assigned(places, continued);
  }

  private async beginReading(readings: readonly Reading[]): Promise<void> {
    const waiting = readings.filter(({ topic }) => this.startAtEnd?.isUnsure(topic));
    for (const reading of waiting) {
      reading.starting = true;
      this.hold(reading);
    }
    const current = () => this.readings?.get(keyOf(waiting[0] ?? { topic: '', partition: 0 })) === waiting[0];
    if (waiting.length > 0) await this.startAtEnd?.settle(waiting, current);
    if (waiting.length > 0 && !current()) return; // the next assignment does it
    for (const reading of waiting) {
      reading.starting = false;
      if (!reading.paused) this.release(reading);
    }
    this.starting?.resolve();
    this.starting = undefined;
  }

  private async take(payload: EachBatchPayload): Promise<void> {
    const { batch } = payload;
    const { topic, partition } = batch;
    this.commitNow = (offsets) => payload.commitOffsetsIfNecessary(offsets);
    const reading = this.readings?.get(keyOf({ topic, partition }));
    // What is not resolved is fetched again.
    if (!reading || reading.paused || reading.starting || !reading.accepts(batch)) return;
    const next = BigInt(batch.lastOffset()) + 1n;
    const messages = batch.messages.map(readMessage);
    reading.position = next;
    // At once, as after a rejoin it would move the new position.
    payload.resolveOffset(batch.lastOffset());
    this.delivering = reading;
    try {
      this.handler.batch({ topic, partition, messages, next, end: BigInt(batch.highWatermark) });
    } finally {
      this.delivering = undefined;
    }
    if (reading.paused) await this.wait(reading, () => payload.heartbeat());
  }

  /** Of a batch in which all are marks of transactions, or messages of aborted ones; kafkajs leaves it out. */
  private skip(place: TopicPartition, next: bigint, end: bigint): void {
    const reading = this.readings?.get(keyOf(place));
    if (!reading || reading.paused || reading.starting) return;
    reading.position = next;
    this.handler.batch({ ...place, messages: [], next, end });
  }

  private async wait(reading: Reading, heartbeat: () => Promise<void>): Promise<void> {
    const { clock } = this.context.client;
    const short = clock.now() + SHORT_HOLD;
    const waits = () => reading.paused && this.readings?.get(keyOf(reading)) === reading;
    while (waits()) {
      const left = this.allPaused() ? this.heartbeatInterval : short - clock.now();
      if (left <= 0) return this.hold(reading);
      await this.holds.hold(left);
      if (waits()) await heartbeat();
    }
  }

  /** While all are paused, nothing else could be fetched, and a hold ends sooner than a pause of kafkajs. */
  private allPaused(): boolean {
    return [...(this.readings?.values() ?? [])].every(({ paused }) => paused);
  }

  private hold(reading: Reading): void {
    if (reading.held) return;
    reading.held = true;
    this.consumer.pause([{ topic: reading.topic, partitions: [reading.partition] }]);
  }

  private release(reading: Reading): void {
    if (!reading.held) return;
    reading.held = false;
    this.consumer.resume([{ topic: reading.topic, partitions: [reading.partition] }]);
  }

  private crash(error: unknown): void {
    this.end();
    if (this.starting) this.starting.reject(error);
    else this.crashed(error);
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
    this.readings = undefined;
    this.holds.wake();
  }
}
