/** One consumer of Confluent's client, from its first join until it leaves or fails. */
import { KqError } from '../../errors.js';
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
} from './confluent-api.js';
import { memberConfig, MEMBER_TOPICS } from './confluent-config.js';
import type { ConfluentContext } from './confluent-api.js';
import { isFatal, isRebalancing, meant, ofEvent, outdated } from './confluent-errors.js';
import { Intake } from './intake.js';
import { QueueSignal } from './queue-signal.js';

const ASSIGN = -175;
const CALL_LIMIT = 5_000;
/** Messages that are taken from its queue at once. */
const CHUNK = 1_000;
/** Of a paused partition; see `fetchBytes`. */
const FETCH_BYTES = 2 ** 20;
/** Milliseconds after which a commit is tried again that came while the group was being shared out. */
const COMMIT_PAUSE = 100;
/** How long its queue is left alone if it says nothing: longer than a few minutes, and the group would take it for stuck. */
const LONGEST_SLEEP = 1_000;

export interface ConfluentIdentity extends MemberIdentity {
  /** Rejects with `KQ_TRANSACTION` once the member has had to give up one of these partitions. */
  use(
    offsets: readonly GroupOffset[],
    run: (consumer: ConfluentConsumerClient) => Promise<unknown>,
  ): Promise<void>;
}

export class ConfluentMembership implements GroupMembership {
  private readonly consumer: ConfluentConsumerClient;
  private readonly client: BrokerClient;
  private readonly startAtEnd: StartAtEnd | undefined;
  /** What it may read and commit now. Undefined: it joins, or has left. */
  private intake: Intake | undefined;
  /** Of partitions that are about to go; undefined: none are. */
  private drain: Drain | undefined;
  private over = false;
  /** Until it has joined for the first time. */
  private starting: { resolve(): void; reject(error: unknown): void } | undefined;
  private connecting: Promise<unknown> = Promise.resolve();
  private polling: Promise<void> = Promise.resolve();
  private using: Promise<unknown> = Promise.resolve();
  private rebalancing: Promise<unknown> = Promise.resolve();
  private readonly signal: QueueSignal;
  /** Of the commit that is under way. */
  private committing: ((error: ConfluentError | undefined) => void) | undefined;
  private lastCommit: Promise<unknown> = Promise.resolve();

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
        rebalance_cb: (event: ConfluentError, places: readonly Place[]) => {
          this.rebalancing = this.rebalance(event, places.map(placeOf));
        },
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
    this.consumer.on('partition.eof', (end) => this.intake?.takeEnd(end));
    this.consumer.on('error', (error) => this.client.log.warn(`Confluent's client: ${error.message}`));
    this.consumer.on('event.error', (error) => {
      this.client.log.debug(`Confluent's client: ${error.message}`);
      if (isFatal(ofEvent(error))) this.crash(error);
    });
  }

  /** Resolves once it has joined and reads. */
  async start(): Promise<void> {
    const topics = [...this.options.topics];
    // The client refuses to join without any.
    if (topics.length === 0) {
      void this.handler.revoking([]);
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
    if (this.over) return; // `stop` waits for this, and closes it
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
    await this.using; // a consumer that is closed meanwhile ends the process
    await this.rebalancing; // and one that waits for the answer to a rebalance does not close
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
    if (flush) this.client.clock.next(() => this.intake === intake && intake.flush());
  }

  async commit(offsets: readonly GroupOffset[]): Promise<boolean> {
    const { intake } = this;
    if (!intake) return false;
    const { version } = intake;
    // While the group is shared out it takes no commits, also of partitions that stay.
    for (; this.intake === intake; await this.client.delay(COMMIT_PAUSE)) {
      const own = offsets.filter((each) => intake.has(each, version));
      if (own.length === 0) return true;
      try {
        await this.commitNow(own);
        return true;
      } catch (error) {
        if (!isRebalancing(error)) throw meant(error, `cannot commit offsets of group ${this.options.group}`);
      }
    }
    return false;
  }

  get identity(): ConfluentIdentity | undefined {
    const { intake, consumer } = this;
    const { group } = this.options;
    if (!intake) return undefined;
    const { version } = intake;
    return {
      group,
      use: async (offsets, run) => {
        if (this.intake !== intake || !offsets.every((each) => intake.has(each, version)))
          throw new MemberLost(group);
        const using = run(consumer);
        this.using = Promise.allSettled([this.using, using]);
        await using;
      },
    };
  }

  /** One after the other: which commit an answer is for is told by neither `commit` nor `commitCb`. */
  private commitNow(offsets: readonly GroupOffset[]): Promise<void> {
    const before = this.lastCommit;
    const places = offsets.map((each) => ({ ...each, offset: Number(each.offset) }));
    const committing = (async () => {
      await before;
      if (this.over) throw outdated();
      await called((done) => {
        this.committing = (error) => done(error, undefined);
        this.consumer.commit(places);
      });
    })();
    this.lastCommit = committing.catch(() => undefined); // told to its caller
    return committing;
  }

  /** Takes what its queue has; also its rebalances come through that. Never rejects. */
  private async poll(): Promise<void> {
    while (!this.over) {
      const woken = this.signal.next(LONGEST_SLEEP);
      try {
        const chunk = await called<readonly ConfluentMessage[]>((done) => this.consumer.consume(CHUNK, done));
        this.take(chunk);
        this.confirm();
        // It stops early at an error, too, and says nothing of what is left.
        if (chunk.length > 0) this.signal.wake();
      } catch (error) {
        // A topic that is not there is its own trouble, which the member reports; the client looks for it by itself.
        if (meant(error, 'cannot read').code !== 'KQ_UNKNOWN_TOPIC') this.crash(error);
        else this.signal.wake();
      }
      await woken;
    }
  }

  private take(chunk: readonly ConfluentMessage[]): void {
    const { intake } = this;
    if (!intake) return;
    intake.take(chunk);
    intake.flush();
    const full = intake.hold(this.options.fetchBytes?.() ?? FETCH_BYTES);
    if (full.length > 0) this.consumer.pause(full);
  }

  /** Never rejects. */
  private rebalance(event: ConfluentError, places: readonly TopicPartition[]): Promise<void> {
    return event.code === ASSIGN ? this.assign(places) : this.revoke(places);
  }

  /** The client joins anew, and others get these partitions, once it has given them up. Never rejects. */
  private async revoke(places: readonly TopicPartition[]): Promise<void> {
    const { intake } = this;
    if (intake && this.consumer.assignmentLost()) this.lose(intake);
    else if (intake) {
      intake.leave(places);
      await this.tellRevoking(places).ended;
      await this.using; // otherwise offsets of these partitions could go out in the name of the next generation
    }
    const stays = intake !== undefined && this.intake === intake;
    this.answer(() => {
      const held = stays ? intake.unassign(places) : [];
      if (held.length > 0) this.consumer.resume(held);
      this.consumer.incrementalUnassign(places);
    });
    if (stays && !this.over) this.tellAssigned(intake, true);
  }

  private lose(intake: Intake): void {
    this.tellRevoking(intake.places).stop();
    this.intake = undefined;
    this.handler.failed(new KqError('KQ_AWAY', `group ${this.options.group} has lost its member`), 0);
  }

  /**
   * Its client gives the signs of life, and says when the session is over; after a standstill that is before this call has
   * come back from its queue.
   */
  private confirm(): void {
    if (this.over || !this.intake || this.consumer.assignmentLost()) return;
    const { sessionTimeout = SESSION_TIMEOUT } = this.options;
    this.handler.confirmed(this.client.clock.now() + sessionTimeout / 2);
  }

  /** These come to those that it has, from the offsets that the group has committed; none, and all stays as it was. Never rejects. */
  private async assign(places: readonly TopicPartition[]): Promise<void> {
    try {
      for (const topic of new Set(places.map((place) => place.topic)))
        if (!this.over) await this.startAtEnd?.settle(topic);
    } catch (error) {
      this.crash(error);
    }
    this.answer(() => {
      if (this.consumer.isConnected()) this.consumer.incrementalAssign(places);
      else this.consumer.unassign(); // all that it takes while it closes
    });
    if (this.over || (this.intake && places.length === 0)) return;
    const continued = this.intake !== undefined;
    const intake = (this.intake ??= new Intake(this.handler, (place) => this.endOf(place)));
    intake.assign(places);
    this.client.tellBack();
    this.tellRevoking([]).stop();
    this.tellAssigned(intake, continued);
    this.starting?.resolve();
    this.starting = undefined;
  }

  private tellAssigned(intake: Intake, continued: boolean): void {
    this.drain = undefined;
    this.handler.assigned(intake.places, continued);
    this.confirm();
  }

  /** Without an answer, the client would wait for what becomes of a rebalance. */
  private answer(answer: () => void): void {
    try {
      answer();
    } catch (error) {
      this.client.log.debug(meant(error, `a rebalance of group ${this.options.group}`).message);
      this.crash(error);
    }
  }

  private tellRevoking(places: readonly TopicPartition[]): Drain {
    const { rebalanceTimeout = REBALANCE_TIMEOUT } = this.options;
    const limit = DRAIN_SHARE * rebalanceTimeout;
    return (this.drain ??= new Drain(this.handler.revoking(places), this.client.clock, limit));
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

  private crash(error: unknown): void {
    if (this.over) return;
    this.end();
    const failure = meant(error, `the member of group ${this.options.group} failed`);
    if (this.starting) this.starting.reject(failure);
    else this.crashed(failure);
  }
}

/** Their client gives partitions with more than that. */
function placeOf({ topic, partition }: Place): TopicPartition {
  return { topic, partition };
}
