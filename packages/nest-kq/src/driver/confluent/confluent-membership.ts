/** One consumer of Confluent's client, from its first join until it leaves or fails. */
import { KqError, show } from '../../errors.js';
import { keyOf } from '../assignment.js';
import type { BrokerClient } from '../broker-client.js';
import { Drain } from '../drain.js';
import {
  DRAIN_SHARE,
  MemberLost,
  REBALANCE_TIMEOUT,
  SESSION_TIMEOUT,
  type MemberHandler,
  type MemberIdentity,
} from '../driver.js';
import type { GroupMembership, MembershipOptions } from '../group-member.js';
import type { GroupOffset, TopicPartition } from '../message.js';
import { StartAtEnd } from '../start-at-end.js';
import {
  called,
  disconnected,
  type ConfluentConsumerClient,
  type ConfluentError,
  type ConfluentMessage,
  type Place,
  type PlaceWithOffset,
} from './confluent-api.js';
import { memberConfig, MEMBER_TOPICS } from './confluent-config.js';
import type { ConfluentContext } from './confluent-api.js';
import { isFatal, isRebalancing, meant, ofEvent, outdated } from './confluent-errors.js';
import { Intake } from './intake.js';
import { QueueSignal } from './queue-signal.js';

const ASSIGN = -175;
const CALL_LIMIT = 5_000;
/** Max messages taken from its queue at once. */
const CHUNK = 1_000;
/** Max bytes kept of a paused partition; see `fetchBytes`. */
const FETCH_BYTES = 2 ** 20;
/** Max pause between polls of a silent queue: after a few minutes the group would consider the member stuck. */
const LONGEST_SLEEP_MS = 1_000;

export interface ConfluentIdentity extends MemberIdentity {
  /** Rejects with `KQ_TRANSACTION` once the group has rebalanced. */
  use(run: (consumer: ConfluentConsumerClient) => Promise<unknown>): Promise<void>;
}

export class ConfluentMembership implements GroupMembership {
  private readonly consumer: ConfluentConsumerClient;
  private readonly client: BrokerClient;
  private readonly startAtEnd: StartAtEnd | undefined;
  /** Partitions it may read and commit now; undefined while joining or after leaving. */
  private intake: Intake | undefined;
  /** The group's committed offsets of its partitions, as far as known. Empty if it lost them, or had none. */
  private readonly known = new Map<string, bigint>();
  /** Set during a rebalance. */
  private drain: Drain | undefined;
  private over = false;
  /** Set until the first join. */
  private starting: { resolve(): void; reject(error: unknown): void } | undefined;
  private connecting: Promise<unknown> = Promise.resolve();
  private polling: Promise<void> = Promise.resolve();
  private using: Promise<unknown> = Promise.resolve();
  private readonly signal: QueueSignal;
  /** Callback of the pending commit. */
  private committing: ((error: ConfluentError | undefined) => void) | undefined;

  constructor(
    context: ConfluentContext,
    private readonly options: MembershipOptions,
    private readonly handler: MemberHandler,
    private readonly crashed: (error: KqError) => void,
  ) {
    const { module } = context;
    this.client = context.client;
    this.signal = new QueueSignal(context.client.clock);
    this.consumer = new module.KafkaConsumer(
      {
        ...memberConfig(this.client.settings, options),
        rebalance_cb: (event: ConfluentError, places: readonly Place[]) => this.rebalance(event, places),
        offset_commit_cb: (error: ConfluentError | undefined, places: readonly (Place | ConfluentError)[]) =>
          this.committing?.(error || places.find((each) => each instanceof Error)),
        queue_non_empty_cb: this.signal.wake,
      },
      MEMBER_TOPICS,
    );
    if (options.from === 'last')
      this.startAtEnd = new StartAtEnd(
        this.client,
        context.cluster,
        options.group,
        (offsets) => this.commitNow(offsets),
        options.fromFirst,
      );
    this.consumer.on('partition.eof', (end) => this.drain ?? this.intake?.takeEnd(end));
    this.consumer.on('error', (error) => this.client.log.warn(`Confluent's client: ${error.message}`));
    this.consumer.on('event.error', (error) => {
      this.client.log.debug(`Confluent's client: ${error.message}`);
      const told = ofEvent(error);
      if (isFatal(told)) this.crash(told);
    });
  }

  /** Resolves once it has joined and reads. */
  async start(): Promise<void> {
    const topics = [...this.options.topics];
    // The client refuses to join without topics.
    if (topics.length === 0) {
      this.announceRejoin().stop();
      this.drain = undefined;
      return this.handler.assigned([], false);
    }
    const joined = new Promise<void>((resolve, reject) => (this.starting = { resolve, reject }));
    this.connecting = called((done) =>
      this.consumer.connect({ allTopics: false, timeout: CALL_LIMIT }, done),
    );
    try {
      await this.connecting;
    } catch (error) {
      throw meant(error, `cannot join group ${this.options.group}`);
    }
    if (this.over) return; // `stop` waits for this, then closes it
    this.consumer.setDefaultConsumeTimeout(0);
    this.consumer.subscribe(topics);
    this.polling = this.poll();
    await joined;
  }

  /** Never rejects. */
  async stop(): Promise<void> {
    this.end();
    await Promise.allSettled([this.connecting]);
    await this.polling;
    await this.using; // closing a consumer in use crashes the process
    await disconnected(this.consumer);
  }

  pause(place: TopicPartition): void {
    this.intake?.pause(place);
  }

  resume(place: TopicPartition): void {
    const { intake } = this;
    if (!intake) return;
    const { flush, held } = intake.resume(place);
    if (held) this.consumer.resume([place]);
    if (flush) this.client.clock.next(() => this.intake === intake && !this.drain && intake.flush());
  }

  async commit(offsets: readonly GroupOffset[]): Promise<boolean> {
    const { intake } = this;
    if (!intake) return false;
    const own = offsets.filter((each) => intake.has(each));
    if (own.length === 0) return true;
    try {
      await this.commitNow(own);
      if (this.intake === intake) for (const each of own) this.known.set(keyOf(each), each.offset);
      return true;
    } catch (error) {
      if (isRebalancing(error)) return false;
      throw meant(error, `cannot commit offsets of group ${this.options.group}`);
    }
  }

  get identity(): ConfluentIdentity | undefined {
    const { intake, consumer } = this;
    const { group } = this.options;
    return (
      intake && {
        group,
        use: async (run) => {
          if (this.intake !== intake) throw new MemberLost(group);
          const using = run(consumer);
          this.using = Promise.allSettled([this.using, using]);
          await using;
        },
      }
    );
  }

  /** One call at a time. Their `commitCb` reports that a commit was sent, not its result. */
  private async commitNow(offsets: readonly GroupOffset[]): Promise<void> {
    const places = offsets.map((each) => ({ ...each, offset: Number(each.offset) }));
    await called((done) => {
      this.committing = (error) => done(error, undefined);
      this.consumer.commit(places);
    });
  }

  /** Polls its queue, which also delivers rebalances. Never rejects. */
  private async poll(): Promise<void> {
    while (!this.over) {
      const woken = this.signal.next(LONGEST_SLEEP_MS);
      try {
        const chunk = await called<readonly ConfluentMessage[]>((done) => this.consumer.consume(CHUNK, done));
        this.take(chunk);
        this.confirm();
        // It also stops early at an error, without saying what is left.
        if (chunk.length > 0) this.signal.wake();
      } catch (error) {
        // A missing topic is a separate problem, which the member reports; the client keeps looking for it.
        if (meant(error, 'cannot read').code !== 'KQ_UNKNOWN_TOPIC') this.crash(error);
        else this.signal.wake();
      }
      await woken;
    }
  }

  private take(chunk: readonly ConfluentMessage[]): void {
    const { intake } = this;
    if (!intake || this.drain) return; // it comes again after the drain
    intake.take(chunk);
    intake.flush();
    const full = intake.hold(this.options.fetchBytes?.() ?? FETCH_BYTES);
    if (full.length > 0) this.consumer.pause(full);
  }

  private rebalance(event: ConfluentError, places: readonly Place[]): void {
    if (event.code === ASSIGN) void this.assign(places);
    else void this.revoke();
  }

  /** Handles a revocation: the client rejoins, and others get the partitions, once it has released them. Never rejects. */
  private async revoke(): Promise<void> {
    const lost = !this.over && this.consumer.assignmentLost();
    if (lost) this.lose();
    else if (!this.over) await this.announceRejoin().ended;
    if (!this.over) {
      const held = this.intake?.held ?? [];
      if (held.length > 0) this.consumer.resume(held); // otherwise they would still be paused in the next assignment
      if (!this.intake) this.known.clear();
      this.intake = undefined;
    }
    this.giveUp();
  }

  private lose(): void {
    this.known.clear();
    this.announceRejoin().stop();
    this.handler.failed(new KqError('KQ_AWAY', `lost the membership in group ${this.options.group}`), 0);
  }

  /**
   * The client sends the heartbeats and reports the end of the session; after the process was blocked, it has done so by the
   * time a poll returns.
   */
  private confirm(): void {
    if (this.over || !this.intake || this.consumer.assignmentLost()) return;
    const { sessionTimeout = SESSION_TIMEOUT } = this.options;
    this.handler.confirmed(this.client.clock.now() + sessionTimeout / 2);
  }

  /** Never rejects. */
  private async assign(given: readonly Place[]): Promise<void> {
    if (this.over) return this.giveUp();
    this.announceRejoin().stop();
    const places = given
      .map(({ topic, partition }) => ({ topic, partition }))
      .toSorted((a, b) => (a.topic === b.topic ? a.partition - b.partition : a.topic < b.topic ? -1 : 1));
    let continued: boolean;
    try {
      for (const topic of new Set(places.map((place) => place.topic))) await this.startAtEnd?.settle(topic);
      const begun = await this.committed(places);
      if (this.over) return this.giveUp();
      this.consumer.assign(places);
      this.intake = new Intake(begun, this.handler, (place) => this.endOf(place));
      continued = this.continues(begun);
    } catch (error) {
      this.crash(error);
      return this.giveUp();
    }
    this.drain = undefined;
    this.client.reportBack();
    this.handler.assigned(places, continued);
    this.confirm();
    this.starting?.resolve();
    this.starting = undefined;
  }

  /** Resolves with the offsets at which the group continues. */
  private async committed(places: readonly TopicPartition[]) {
    const found = await called<readonly Partial<PlaceWithOffset>[]>((done) =>
      this.consumer.committed(places, CALL_LIMIT, done),
    );
    return places.map((place) => {
      const { offset = 0 } = found.find((each) => keyOf(each as Place) === keyOf(place)) ?? {};
      return { ...place, offset: BigInt(Math.max(0, offset)) };
    });
  }

  /**
   * Whether nobody else had its partitions in between. The client doesn't report the number of joins before an assignment; but
   * any other owner that made progress has committed it.
   */
  private continues(begun: readonly GroupOffset[]): boolean {
    const had = this.known.size > 0;
    const same = begun.every((each) => [undefined, each.offset].includes(this.known.get(keyOf(each))));
    this.known.clear();
    for (const each of begun) this.known.set(keyOf(each), each.offset);
    return had && same;
  }

  /** Releases the assignment; otherwise the client would wait for an answer to it. */
  private giveUp(): void {
    try {
      this.consumer.unassign();
    } catch (error) {
      this.client.log.debug(meant(error, `cannot leave group ${this.options.group}`).message);
    }
  }

  private announceRejoin(): Drain {
    const { rebalanceTimeout = REBALANCE_TIMEOUT } = this.options;
    const limit = DRAIN_SHARE * rebalanceTimeout;
    return (this.drain ??= new Drain(this.handler.rejoining(), this.client.clock, limit));
  }

  private endOf({ topic, partition }: TopicPartition): bigint {
    return BigInt(Math.max(0, this.consumer.getWatermarkOffsets(topic, partition).highOffset));
  }

  private end(): void {
    this.over = true;
    this.intake = undefined;
    this.drain?.stop();
    this.committing?.(outdated());
    this.signal.wake();
  }

  private failureOf(error: unknown): KqError {
    const { group, groupInstanceId } = this.options;
    const what = `the member of group ${group} failed`;
    if (groupInstanceId === undefined || !isFatal(error)) return meant(error, what);
    // Nothing else is fatal to a named consumer, and the client omits the reason.
    const fact = `${what}: another member uses its \`groupInstanceId\` ${show(groupInstanceId)}`;
    return new KqError('KQ_CONFIG', `${fact}: expected a unique name for each process`, { cause: error });
  }

  private crash(error: unknown): void {
    if (this.over) return;
    this.end();
    const failure = this.failureOf(error);
    if (this.starting) this.starting.reject(failure);
    else this.crashed(failure);
  }
}
