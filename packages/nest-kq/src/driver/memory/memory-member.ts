import { KqError } from '../../errors.js';
import { keyOf } from '../assignment.js';
import { matchesAny } from '../expressions.js';
import { Drain } from '../drain.js';
import {
  DRAIN_SHARE,
  REBALANCE_TIMEOUT,
  type LogMember,
  type MemberHandler,
  type MemberIdentity,
  type MemberOptions,
  type Unavailable,
} from '../driver.js';
import type { GroupOffset, TopicPartition } from '../message.js';
import type { Joined, MemoryGroup } from './memory-groups.js';
import type { MemoryLog } from './memory-log.js';
import type { MemorySettings } from './memory-options.js';
import type { PartitionLog } from './partition-log.js';

interface Reading extends TopicPartition {
  readonly log: PartitionLog;
  /** Next offset to read. */
  position: bigint;
  paused: boolean;
}

export interface MemoryIdentity extends MemberIdentity {
  readonly offsets: MemoryGroup;
  /** Whether the group hasn't rebalanced since. */
  stays(): boolean;
}

interface Context {
  readonly id: string;
  readonly log: MemoryLog;
  readonly group: MemoryGroup;
  readonly settings: MemorySettings;
}

export class MemoryMember implements LogMember, Joined {
  readonly id: string;
  topics: readonly string[] = [];
  /** By partition, least recently read first; undefined while joining or out of the group. */
  private reading: Map<string, Reading> | undefined;
  /** Set during a rebalance. */
  private drain: Drain | undefined;
  private state: 'new' | 'joined' | 'stopped' = 'new';
  private waking = false;
  /** Number of missing topics. */
  private lacking = 0;
  private unwatch = () => {};

  constructor(
    private readonly context: Context,
    private readonly options: MemberOptions,
    private readonly handler: MemberHandler,
  ) {
    this.id = context.id;
  }

  async start(): Promise<void> {
    const { log, group } = this.context;
    if (this.state !== 'new')
      throw new KqError('KQ_CLOSED', `the member of ${this.options.group} is ${this.state}`);
    this.topics = this.options.topics.flatMap((topic) => this.named(topic));
    for (const topic of this.topics) {
      if (this.options.missing === 'wait' && !log.has(topic)) continue;
      log.partitions(topic); // throws if it is missing
      if (this.options.from === 'last' && !this.options.fromFirst?.has(topic)) group.beginAtEnd(topic);
    }
    this.state = 'joined';
    const unwatch = log.watch((topic) => {
      if (this.topics.includes(topic)) this.wake();
    });
    const unwatchCreations = log.watchCreations(() => this.lookForMissing());
    this.unwatch = () => {
      unwatch();
      unwatchCreations();
    };
    this.reportMissing();
    await group.join(this);
  }

  pause(topic: string, partition: number): void {
    const found = this.reading?.get(keyOf({ topic, partition }));
    if (found) found.paused = true;
  }

  resume(topic: string, partition: number): void {
    const found = this.reading?.get(keyOf({ topic, partition }));
    if (!found) return;
    found.paused = false;
    this.wake();
  }

  async commit(offsets: readonly GroupOffset[]): Promise<boolean> {
    const { reading } = this;
    if (!reading) return false;
    this.context.group.store(offsets.filter((each) => reading.has(keyOf(each))));
    return true;
  }

  /** Its stay ends with `reading`, which each assignment replaces. */
  get identity(): MemoryIdentity | undefined {
    const { reading, context, options } = this;
    return reading && { group: options.group, stays: () => this.reading === reading, offsets: context.group };
  }

  rejoin(error: KqError): void {
    if (this.state !== 'joined') return;
    this.ended();
    void this.rejoining();
    this.drain?.stop();
    this.handler.failed(error, 0);
    this.context.group.leave(this);
    void this.context.group.join(this);
  }

  async stop(): Promise<void> {
    this.state = 'stopped';
    this.ended();
    this.drain?.stop();
    this.unwatch();
    this.context.group.leave(this);
  }

  rejoining(): Promise<void> {
    if (!this.drain) {
      const { rebalanceTimeout = REBALANCE_TIMEOUT } = this.options;
      const { clock } = this.context.settings;
      this.drain = new Drain(this.handler.rejoining(), clock, DRAIN_SHARE * rebalanceTimeout);
      if (!this.reading) this.drain.stop();
    }
    return this.drain.ended;
  }

  ended(): void {
    this.reading = undefined;
  }

  assigned(assignment: readonly TopicPartition[], continued: boolean): void {
    this.drain = undefined;
    this.reading = new Map(assignment.map((place) => [keyOf(place), this.beginningOf(place)]));
    this.handler.assigned(assignment, continued);
    this.wake();
  }

  private get missing(): Unavailable[] {
    const { log } = this.context;
    return this.topics.flatMap((topic) => (log.has(topic) ? [] : [{ topic, why: 'unknown' }]));
  }

  private lookForMissing(): void {
    if (this.lacking === this.missing.length) return;
    this.reportMissing();
    this.context.group.refresh();
  }

  private reportMissing(): void {
    const { missing } = this;
    if (missing.length !== this.lacking) this.handler.unavailable?.(missing);
    this.lacking = missing.length;
  }

  private named(topic: string | RegExp): readonly string[] {
    return typeof topic === 'string'
      ? [topic]
      : this.context.log.names.filter((name) => matchesAny(name, [topic]));
  }

  private beginningOf({ topic, partition }: TopicPartition): Reading {
    const log = this.context.log.partition(topic, partition);
    const committed = this.context.group.committed({ topic, partition });
    // As in Kafka, an offset that isn't in the log means its first message.
    const known = committed !== undefined && committed <= log.end;
    return { topic, partition, log, position: known ? committed : log.first, paused: false };
  }

  /** Delivers one batch per turn, so that a fast handler blocks nothing else. */
  private wake(): void {
    if (this.waking || this.state !== 'joined') return;
    this.waking = true;
    this.context.settings.clock.soon(() => {
      this.waking = false;
      if (this.deliver()) this.wake();
    });
  }

  /** @returns Whether there may be more. */
  private deliver(): boolean {
    const { reading } = this;
    if (!reading || this.drain) return false;
    for (const [key, each] of reading) {
      if (each.paused || each.position >= each.log.readable) continue;
      reading.delete(key);
      reading.set(key, each);
      const { topic, partition, log, position } = each;
      const { messages, next } = log.read(position, this.context.settings.fetchBytes);
      each.position = next;
      const lost = position < log.first ? { from: position, to: log.first } : undefined;
      this.handler.batch({ topic, partition, messages, next, end: log.end, ...(lost && { lost }) });
      return true;
    }
    return false;
  }
}
