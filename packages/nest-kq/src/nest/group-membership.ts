/** The membership of this process in one group: joins, retries and leaves. */
import {
  GroupConsumer,
  has,
  type GroupConsumerOptions,
  type Progress,
  type Subscription,
} from '../consumer/group-consumer.js';
import { Pauses } from '../consumer/pauses.js';
import type { LogDriver } from '../driver/driver.js';
import { KqError, factOf, show, toError } from '../errors.js';
import type { EventHub } from '../events/event-hub.js';
import type { KqPartition, KqUnavailable } from '../events/events.js';
import { settingsOf } from '../driver/made-topics.js';
import type { KqGroupLoad } from '../events/hooks.js';
import type { OwnGroup } from '../groups/own-group.js';
import { detached } from 'nest-handlers/context';
import type { Clock, Timer } from 'nest-handlers/time';
import type { LogReport } from './log-report.js';
import { TopicWatch } from './topic-watch.js';

/** How long the application's start waits for a group to be joined. */
const FIRST_JOIN_MS = 5_000;

/** Delay before a new member is created after the brokers refused the last one. */
const REFUSED_PAUSE_MS = 30_000;

export interface MembershipOptions extends Pick<
  GroupConsumerOptions,
  'group' | 'from' | 'commitEvery' | 'groupInstanceId'
> {
  readonly sessionTimeout: number;
  readonly rebalanceTimeout: number;
  /** How long the end waits for running handlers, in ms. */
  readonly shutdownTimeout: number;
  readonly subscriptions: readonly Subscription[];
  /** Names of their handlers, in the same order, for messages. */
  readonly names: readonly string[];
  /** Retry topics to create, each with the topic whose messages wait there. @default none */
  readonly retries?: ReadonlyMap<string, string>;
}

export class GroupMembership implements OwnGroup {
  private consumer: GroupConsumer | undefined;
  /** Why it is out of the group; undefined while it is in. */
  private trouble: string | undefined = 'joining';
  private joinedBefore = false;
  /** The partitions currently assigned. */
  private partitions: readonly KqPartition[] = [];
  unavailable: readonly KqUnavailable[] = [];
  private retry: Timer | undefined;
  private ending: Promise<void> | undefined;
  private readonly pauses = new Pauses();
  /** Set if a handler has a regular expression. */
  private readonly watch: TopicWatch | undefined;
  /** Resolves once the last join has ended, successfully or not. */
  private joining: Promise<void> = Promise.resolve();

  constructor(
    private readonly driver: LogDriver,
    private readonly clock: Clock,
    private readonly events: EventHub,
    private readonly report: Pick<LogReport, 'waits' | 'cutOff' | 'twoHandlers' | 'noTopics' | 'made'>,
    private readonly options: MembershipOptions,
  ) {
    const came = (topics: readonly string[]) => this.take(topics);
    const topics = options.subscriptions.flatMap((each) => each.topics);
    const patterns = topics.filter((topic) => topic instanceof RegExp);
    if (patterns.length > 0)
      this.watch = new TopicWatch(driver.admin, clock, report, { ...options, patterns, came });
  }

  get group(): string {
    return this.options.group;
  }

  get state(): string {
    return this.trouble ?? 'up';
  }

  get progress(): readonly Progress[] {
    return this.trouble === undefined ? (this.consumer?.progress ?? []) : [];
  }

  load(): KqGroupLoad {
    const partitions = this.progress.map(({ topic, partition, watermark, end }) => ({
      topic,
      partition,
      ...(watermark !== undefined && { lag: Math.max(0, Number(end - watermark)) }),
    }));
    const up = this.trouble === undefined;
    return { group: this.group, up, running: this.consumer?.running ?? 0, partitions };
  }

  get paused(): true | readonly string[] | undefined {
    return this.pauses.paused;
  }

  handles(topic: string): boolean {
    return this.options.subscriptions.some((each) => has(each, topic));
  }

  pause(topic?: string): void {
    this.pauses.pause(topic);
    this.consumer?.pausesChanged();
  }

  resume(topic?: string): void {
    this.pauses.resume(topic);
    this.consumer?.pausesChanged();
  }

  outside<T>(work: () => Promise<T>): Promise<T> {
    return this.anew('its offsets are being set', work);
  }

  /** Finishes current runs, leaves, does the work and joins again. `trouble` is the reason it is out meanwhile. */
  private async anew<T>(trouble: string, work: () => Promise<T>): Promise<T> {
    // A member stopped while it joins would linger in the group.
    await this.withinLimit(this.joining);
    if (this.ending) throw new KqError('KQ_CLOSED', `this process is leaving the group ${this.group}`);
    this.retry?.cancel();
    this.trouble = trouble;
    await this.leaveGroup();
    try {
      return await work();
    } finally {
      this.retry?.cancel();
      if (!this.ending) void this.goOn(this.join());
    }
  }

  /**
   * Resolves once it has joined. If that takes long because the brokers are away, it resolves anyway and keeps trying. Rejects
   * with `KQ_UNKNOWN_TOPIC`, `KQ_REFUSED` or `KQ_CONFIG` if that is known by then.
   */
  async start(): Promise<void> {
    const joining = this.watch ? this.watch.start().then(() => this.join()) : this.join();
    if (await this.withinLimit(joining)) return;
    this.report.waits(this.group, FIRST_JOIN_MS);
    void this.goOn(joining);
  }

  /** Finishes current runs, commits and leaves. Never rejects. Idempotent. */
  end(): Promise<void> {
    return (this.ending ??= this.leave());
  }

  /** Rejoins to read new topics, too. */
  private async take(topics: readonly string[]): Promise<void> {
    try {
      await this.anew(`rejoining to also read ${topics.join(', ')}`, async () => undefined);
    } catch (thrown) {
      if (!this.ending) throw thrown;
    }
  }

  private async leave(): Promise<void> {
    this.watch?.stop();
    this.retry?.cancel();
    this.trouble = 'left';
    this.unavailable = [];
    await this.leaveGroup(true);
  }

  /** Finishes current runs and commits. Never rejects. `returns`: see `LogMember.stop`. */
  private async leaveGroup(returns = false): Promise<void> {
    const { group, shutdownTimeout } = this.options;
    try {
      const aborted = (await this.consumer?.stop(shutdownTimeout, returns)) ?? 0;
      if (aborted > 0) this.report.cutOff(group, aborted, shutdownTimeout);
    } catch (error) {
      this.events.emit('commitFailed', { group, error: toError(error) });
    }
    this.hold([]);
    this.events.emit('groupLeft', { group });
  }

  /** Returns false if the join takes longer than it should. Rejects if the join does. */
  private async withinLimit(joining: Promise<void>): Promise<boolean> {
    let timer: Timer | undefined;
    const late = new Promise<false>((resolve) => {
      timer = this.clock.after(FIRST_JOIN_MS, () => resolve(false));
    });
    try {
      return await Promise.race([joining.then(() => true), late]);
    } finally {
      timer?.cancel();
    }
  }

  /** Rejects only with errors that waiting won't fix. */
  private join(): Promise<void> {
    const joining = detached(() => this.joinAnew()); // a seek may run within a request
    this.joining = joining.catch(() => undefined); // its caller gets the error
    return joining;
  }

  private async joinAnew(): Promise<void> {
    const { retries = new Map<string, string>() } = this.options;
    const consumer: GroupConsumer = new GroupConsumer(this.driver, this.clock, {
      ...this.options,
      missing: this.joinedBefore ? 'wait' : 'refuse',
      pauses: this.pauses,
      fromFirst: new Set([...(this.watch?.later ?? []), ...retries.keys()]),
      joined: (partitions) => this.joined(consumer, partitions),
      failed: (error, retryIn) => this.failed(error, retryIn),
      lapsed: (error) => this.out(error),
      cut: (partitions) => this.events.emit('overlapped', { group: this.group, partitions }),
      unavailable: (places) => this.lacks(places),
    });
    this.consumer = consumer;
    try {
      await this.makeTopics(retries);
      if (consumer.stopped) return;
      await consumer.start();
    } catch (thrown) {
      if (consumer.stopped) return;
      const error = await this.explained(toError(thrown));
      if (consumer.stopped) return;
      await consumer.stop(0);
      throw error;
    }
  }

  private async makeTopics(retries: ReadonlyMap<string, string>): Promise<void> {
    if (retries.size === 0) return;
    const topics = Array.from(retries, ([topic, like]) => settingsOf(topic, like));
    for (const topic of await this.driver.admin.createTopics(topics))
      this.report.made(topic, retries.get(topic)!);
  }

  private async goOn(joining: Promise<void>): Promise<void> {
    try {
      await joining;
    } catch (thrown) {
      if (this.ending) return;
      this.failed(toError(thrown), REFUSED_PAUSE_MS);
      this.retry = this.clock.after(REFUSED_PAUSE_MS, () => void this.goOn(this.join()));
    }
  }

  private joined(consumer: GroupConsumer, partitions: readonly KqPartition[]): void {
    if (consumer.stopped) return;
    if (this.trouble !== undefined) {
      this.trouble = undefined;
      const { group, subscriptions } = this.options;
      const topics = subscriptions.flatMap((each) => each.topics);
      this.events.emit('groupJoined', { group, topics, again: this.joinedBefore });
      this.joinedBefore = true;
    }
    this.hold(partitions, true);
  }

  private failed(error: Error, retryIn: number | undefined): void {
    if (this.ending) return;
    const { group } = this;
    if (retryIn === undefined) return this.events.emit('commitFailed', { group, error });
    this.out(error, retryIn);
  }

  /** @param retryIn Absent if the member keeps trying to reach the group. */
  private out(error: Error, retryIn?: number): void {
    this.trouble = error.message;
    this.hold([]);
    this.events.emit('groupLeft', { group: this.group, error, ...(retryIn !== undefined && { retryIn }) });
  }

  private lacks(places: readonly KqUnavailable[]): void {
    const before = new Map(this.unavailable.map((each) => [nameOf(each), each]));
    const began = places.filter((each) => !before.delete(nameOf(each)));
    const ended = [...before.values()];
    this.unavailable = places;
    if (began.length + ended.length > 0)
      this.events.emit('unavailable', { group: this.group, places, began, ended });
  }

  /** Emits the current partitions. `confirmed`: even if nothing changed. */
  private hold(partitions: readonly KqPartition[], confirmed = false): void {
    const before = new Map(this.partitions.map((each) => [nameOf(each), each]));
    const assigned = partitions.filter((each) => !before.delete(nameOf(each)));
    const lost = [...before.values()];
    this.partitions = partitions;
    if (confirmed || lost.length > 0)
      this.events.emit('rebalanced', { group: this.group, partitions, assigned, lost });
  }

  /** Adds the handlers of missing topics, and the topics that exist, to an unknown-topic error. */
  private async explained(error: Error): Promise<Error> {
    if (!(error instanceof KqError) || error.code !== 'KQ_UNKNOWN_TOPIC') return error;
    const { subscriptions, names } = this.options;
    const known = await this.driver.admin.topics().catch(() => []);
    const there = new Set(known.map(({ topic }) => topic));
    const missing = subscriptions.flatMap(({ topics }, index) =>
      topics
        .filter((topic) => typeof topic === 'string' && !there.has(topic))
        .map((topic) => `${names[index]}: there is no topic ${show(topic)}`),
    );
    const told = missing.length > 0 ? missing.join('; ') : factOf(error);
    const rest = there.size > 0 ? `existing topics: ${[...there].join(', ')}` : 'no topic exists yet';
    return new KqError('KQ_UNKNOWN_TOPIC', `${told}; ${rest}`, { cause: error });
  }
}

function nameOf({ topic, partition }: Partial<KqPartition>): string {
  return `${topic}/${partition}`;
}
