/** A member of a group, which rejoins after whatever ends a stay in it. */
import type { Timer } from 'nest-handlers/time';
import { KqError } from '../errors.js';
import { Availability } from './availability.js';
import type { BrokerClient } from './broker-client.js';
import type { Cluster } from './cluster.js';
import type { LogMember, MemberHandler, MemberIdentity, MemberOptions } from './driver.js';
import { matchesAny } from './expressions.js';
import type { GroupOffset, TopicPartition } from './message.js';

const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 30_000;

/** Consecutive failures before `KQ_AWAY` is logged: a group's broker often needs a moment to load it. */
const UNUSUAL = 5;

/** Errors at startup that waiting won't fix. */
const HOPELESS = ['KQ_UNKNOWN_TOPIC', 'KQ_REFUSED', 'KQ_CONFIG', 'KQ_CLOSED'];

export interface MembershipOptions extends Omit<MemberOptions, 'topics'> {
  readonly topics: readonly string[];
}

/** One stay in a group, with any client. */
export interface GroupMembership {
  /** Resolves once it has joined and reads. */
  start(): Promise<void>;
  /** Never rejects. `returns`: see `LogMember.stop`. */
  stop(returns?: boolean): Promise<void>;
  pause(place: TopicPartition): void;
  resume(place: TopicPartition): void;
  commit(offsets: readonly GroupOffset[]): Promise<boolean>;
  readonly identity: MemberIdentity | undefined;
}

/** Creates a stay. `crashed` is called at most once, after `start` has resolved. */
export type MakeStay = (
  options: MembershipOptions,
  handler: MemberHandler,
  crashed: (error: KqError) => void,
) => GroupMembership;

export class GroupMember implements LogMember {
  private state: 'new' | 'started' | 'stopped' = 'new';
  private membership: GroupMembership | undefined;
  /** Consecutive failures. */
  private failures = 0;
  private retry: Timer | undefined;
  private settle: { resolve(): void; reject(error: KqError): void } | undefined;
  private stopping: Promise<void> | undefined;

  /** Reported, with no assignment since. */
  private rejoining: Promise<void> | undefined;
  private readonly watched: MemberHandler;
  private readonly availability: Availability;

  constructor(
    private readonly client: BrokerClient,
    private readonly cluster: Cluster,
    private readonly options: MemberOptions,
    private readonly handler: MemberHandler,
    private readonly stay: MakeStay,
  ) {
    this.watched = {
      rejoining: () => this.announceRejoin(),
      assigned: (assignment, continued) => {
        this.rejoining = undefined;
        this.availability.assign(assignment);
        handler.assigned(assignment, continued);
      },
      batch: (batch) => handler.batch(batch),
      failed: (error, retryIn) => handler.failed(error, retryIn),
      confirmed: (until) => handler.confirmed(until),
    };
    this.availability = new Availability(client, cluster, (places) => handler.unavailable?.(places));
  }

  start(): Promise<void> {
    const { group } = this.options;
    if (this.state !== 'new')
      return Promise.reject(new KqError('KQ_CLOSED', `the member of ${group} is ${this.state}`));
    this.state = 'started';
    return new Promise((resolve, reject) => {
      this.settle = { resolve, reject };
      void this.join();
    });
  }

  pause(topic: string, partition: number): void {
    this.membership?.pause({ topic, partition });
  }

  resume(topic: string, partition: number): void {
    this.membership?.resume({ topic, partition });
  }

  async commit(offsets: readonly GroupOffset[]): Promise<boolean> {
    return (await this.membership?.commit(offsets)) ?? false;
  }

  get identity(): MemberIdentity | undefined {
    return this.membership?.identity;
  }

  rejoin(error: KqError): void {
    if (this.membership) void this.fail(error);
  }

  stop(returns = false): Promise<void> {
    return (this.stopping ??= this.stopNow(returns));
  }

  private async stopNow(returns: boolean): Promise<void> {
    this.state = 'stopped';
    this.availability.stop();
    this.retry?.cancel();
    this.settle?.reject(new KqError('KQ_CLOSED', `the member of ${this.options.group} is stopped`));
    await this.leave(returns);
  }

  private async leave(returns = false): Promise<void> {
    const { membership } = this;
    this.membership = undefined;
    await membership?.stop(returns);
  }

  /** Never rejects. */
  private async join(): Promise<void> {
    try {
      const topics = await this.names();
      if (this.state === 'stopped') return;
      this.availability.watch(topics, new Set(this.options.topics.filter(isName)));
      const { missing } = this;
      const options = { ...this.options, topics, missing };
      const membership = this.stay(options, this.watched, (error) => {
        if (this.membership === membership) void this.fail(error);
      });
      this.membership = membership;
      await membership.start();
      this.failures = 0;
      this.client.reportBack();
      this.settle?.resolve();
      this.settle = undefined;
    } catch (error) {
      await this.fail(error as KqError); // clusters and stays throw nothing else
    }
  }

  private async fail(failure: KqError): Promise<void> {
    await this.leave();
    if (this.state === 'stopped') return;
    if (this.settle && HOPELESS.includes(failure.code)) {
      this.state = 'stopped';
      this.availability.stop();
      this.settle.reject(failure);
      return;
    }
    const { client } = this;
    // Unlikely to pass soon; and two members with one `groupInstanceId` would expel each other endlessly.
    const pause = failure.code === 'KQ_CONFIG' ? LONGEST_PAUSE : FIRST_PAUSE * 2 ** this.failures++;
    const retryIn = Math.min(pause, LONGEST_PAUSE);
    // Unreachable brokers are reported once, elsewhere.
    if (failure.code !== 'KQ_AWAY' || this.failures === UNUSUAL)
      client.log.error(`${failure.message}; rejoining in ${retryIn} ms`);
    this.retry = client.clock.after(retryIn, () => void this.join());
    void this.announceRejoin(); // its partitions are lost
    this.handler.failed(failure, retryIn);
  }

  /** Reports once per assignment, however many attempts it takes to join. */
  private announceRejoin(): Promise<void> {
    return (this.rejoining ??= this.handler.rejoining());
  }

  /** Always `wait` after the first join. */
  private get missing(): 'refuse' | 'wait' {
    return this.settle ? (this.options.missing ?? 'refuse') : 'wait';
  }

  /**
   * Resolves with the names and those matched by the expressions. Rejects with `KQ_UNKNOWN_TOPIC` if a missing name is refused.
   */
  private async names(): Promise<string[]> {
    const { cluster } = this;
    const names: string[] = [];
    const patterns = this.options.topics.filter((topic) => topic instanceof RegExp);
    for (const topic of this.options.topics) {
      if (typeof topic !== 'string') continue;
      if (this.missing === 'refuse') await cluster.partitions(topic, 0);
      names.push(topic);
    }
    if (patterns.length > 0)
      for (const { topic } of await cluster.all(0)) if (matchesAny(topic, patterns)) names.push(topic);
    return [...new Set(names)];
  }
}

function isName(topic: string | RegExp): topic is string {
  return typeof topic === 'string';
}
