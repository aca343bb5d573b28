/** Runs one member of a group: passes the messages of its partitions to the handlers of this process. */
import { matchesAny } from '../driver/expressions.js';
import {
  DRAIN_SHARE,
  REBALANCE_TIMEOUT,
  type LogBatch,
  type LogDriver,
  type LogMember,
  type MemberHandler,
  type MemberOptions,
  type Unavailable,
} from '../driver/driver.js';
import type { TopicPartition } from '../driver/message.js';
import { KqError } from '../errors.js';
import type { Clock, Timer } from 'nest-handlers/time';
import { Committer } from './committer.js';
import type { PartitionWork } from './partition-work.js';
import type { Pauses } from './pauses.js';
import { FILL_LIMIT_MS, TopicWork, type CutPartition, type WorkOptions } from './topic-work.js';

/** A handler of the group, with its topics. No topic has two handlers in one group. */
export interface Subscription extends WorkOptions {
  readonly topics: readonly (string | RegExp)[];
}

export interface GroupConsumerOptions extends Omit<MemberOptions, 'topics'> {
  readonly subscriptions: readonly Subscription[];
  /** Minimum interval between commits, in ms. */
  readonly commitEvery: number;
  readonly pauses: Pauses;
  /** Called when the member has joined or rejoined, and been assigned these partitions. */
  joined(partitions: readonly TopicPartition[]): void;
  /**
   * Called when the member or a commit has failed.
   * @param retryIn Delay in ms before the member rejoins; absent if a commit failed and will be retried.
   */
  failed(error: Error, retryIn?: number): void;
  /**
   * Called when the group hasn't answered for so long that it may have reassigned the partitions. Nothing starts until `joined`.
   * The member keeps trying.
   */
  lapsed(error: Error): void;
  /** Called when it has lost these partitions while their handlers were running. */
  cut(partitions: readonly CutPartition[]): void;
  /** Called each time the list of partitions that can't be read changes. */
  unavailable?(places: readonly Unavailable[]): void;
}

/** Progress of an assigned partition. */
export interface Progress extends TopicPartition {
  /** Offset below which everything is handled; undefined if nothing has arrived since the assignment. */
  readonly watermark: bigint | undefined;
  /** Timestamp of the first received message that isn't handled; undefined if there is none. */
  readonly oldest: number | undefined;
  /** Offset after the last message of the partition, as of the last fetch; 0 before the first. */
  readonly end: bigint;
  /** Whether the partition has not been fetched for long, because the message at its watermark isn't handled. */
  readonly stalled: boolean;
}

export class GroupConsumer implements MemberHandler {
  private readonly member: LogMember;
  private readonly works: readonly (readonly [Subscription, TopicWork])[];
  private readonly committer: Committer;
  /** Clock time until which the group certainly won't reassign the partitions. */
  private confirmedUntil = Infinity;
  private lapse: Timer | undefined;
  /** Assigned partitions; undefined while joining or out of the group. */
  private assignment: readonly TopicPartition[] | undefined;
  private hasLapsed = false;
  private stopping: Promise<number> | undefined;

  constructor(
    driver: LogDriver,
    private readonly clock: Clock,
    private readonly options: GroupConsumerOptions,
  ) {
    const { subscriptions, commitEvery } = options;
    const { budget } = subscriptions[0]!.room; // shared by all
    this.member = driver.member(
      {
        ...options,
        topics: subscriptions.flatMap(({ topics }) => topics),
        fetchBytes: () => budget.fetchBytes,
      },
      this,
    );
    this.committer = new Committer(this.member, clock, {
      every: commitEvery,
      works: () => this.partitions(),
      failed: (error) => options.failed(error),
    });
    const { member, committer } = this;
    const settled = () => committer.settled();
    const isConfirmed = (now: number) => now < this.confirmedUntil;
    const owner = { driver, group: options.group, member, settled, moved: committer.moved, isConfirmed };
    this.works = subscriptions.map((each) => [
      each,
      new TopicWork(each, member, clock, options.pauses, committer.moved, owner),
    ]);
  }

  /** Resolves once it has joined; rejects like the member's `start`. */
  start(): Promise<void> {
    return this.member.start();
  }

  /**
   * Starts nothing except messages that hold back the offset to commit, waits up to `timeout` ms for current runs, aborts those
   * left, commits and leaves. Idempotent.
   * @param returns See `LogMember.stop`.
   * @returns The number of aborted runs.
   */
  stop(timeout: number, returns = false): Promise<number> {
    return (this.stopping ??= this.drain(timeout, returns));
  }

  /** Whether it is stopped or stopping. */
  get stopped(): boolean {
    return this.stopping !== undefined;
  }

  /** Applies changes of `pauses`. The member stays in the group. */
  pausesChanged(): void {
    for (const [, work] of this.works) work.pausesChanged();
  }

  /** Number of handler calls that haven't returned. */
  get running(): number {
    return this.works.reduce((sum, [, work]) => sum + work.runs, 0);
  }

  get progress(): Progress[] {
    return Array.from(this.partitions(), ({ place, watermark, oldest, end, stalled }) => {
      return { ...place, watermark, oldest, end, stalled };
    });
  }

  async rejoining(): Promise<void> {
    this.assignment = undefined;
    const { rebalanceTimeout = REBALANCE_TIMEOUT } = this.options;
    const fill = Math.min(FILL_LIMIT_MS, (DRAIN_SHARE * rebalanceTimeout) / 2);
    await Promise.all(this.works.map(([, work]) => work.rejoin(fill)));
    await this.committer.flush();
  }

  assigned(assignment: readonly TopicPartition[], continued: boolean): void {
    this.assignment = assignment;
    this.hasLapsed = false;
    this.share(assignment, continued);
    this.committer.release();
    this.options.joined(assignment);
  }

  batch(batch: LogBatch): void {
    for (const [subscription, work] of this.works)
      if (has(subscription, batch.topic)) return work.batch(batch);
  }

  unavailable(places: readonly Unavailable[]): void {
    this.options.unavailable?.(places);
  }

  failed(error: KqError, retryIn: number): void {
    this.assignment = undefined;
    this.lapse?.cancel();
    this.share([], false);
    this.options.failed(error, retryIn);
  }

  confirmed(until: number): void {
    if (this.stopping) return;
    this.confirmedUntil = until;
    const left = until - this.clock.now();
    if (left > 0) this.vouchedFor(); // otherwise the process was blocked for so long that the answer is out of date
    if (this.hasLapsed) return;
    this.lapse?.cancel();
    this.lapse = this.clock.after(left, () => this.lapsed());
  }

  /** Called when the group has confirmed that the partitions are still assigned to this process. */
  private vouchedFor(): void {
    if (this.hasLapsed && this.assignment) this.options.joined(this.assignment);
    this.hasLapsed = false;
    for (const [, work] of this.works) work.confirmed();
  }

  private lapsed(): void {
    this.hasLapsed = true;
    const { group } = this.options;
    const fact = `the group ${group} has not answered this process for a session timeout`;
    this.options.lapsed(new KqError('KQ_AWAY', `${fact}: it may have given its partitions to others`));
  }

  private share(assignment: readonly TopicPartition[], continued: boolean): void {
    const cut = this.works.flatMap(([subscription, work]) =>
      work.assigned(
        assignment.filter(({ topic }) => has(subscription, topic)),
        continued,
      ),
    );
    if (cut.length > 0) this.options.cut(cut);
  }

  private *partitions(): Iterable<PartitionWork> {
    for (const [, work] of this.works) yield* work.works;
  }

  private async drain(timeout: number, returns: boolean): Promise<number> {
    await new Promise<void>((resolve) => {
      const timer = this.clock.after(timeout, resolve);
      void Promise.all(this.works.map(([, work]) => work.stop(Math.min(FILL_LIMIT_MS, timeout)))).then(() => {
        timer.cancel();
        resolve();
      });
    });
    this.lapse?.cancel();
    const aborted = this.running;
    for (const [, work] of this.works) work.giveUp(); // no-op if nothing runs
    await this.committer.stop();
    await this.member.stop(returns);
    for (const work of this.partitions()) work.lose();
    return aborted;
  }
}

/** Whether the subscription covers the topic. */
export function has({ topics }: Pick<Subscription, 'topics'>, topic: string): boolean {
  return topics.some((each) => (typeof each === 'string' ? each === topic : matchesAny(topic, [each])));
}
