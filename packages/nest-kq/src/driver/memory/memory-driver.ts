/** A log in this process: topics, partitions, groups and transactions like Kafka's, lost with the process. */
import { KqError } from '../../errors.js';
import type {
  LogAdmin,
  LogDriver,
  LogMember,
  LogProducer,
  MemberHandler,
  MemberOptions,
  ProducerOptions,
  TopicSettings,
} from '../driver.js';
import type { PartitionOffset } from '../message.js';
import { MemoryGroups } from './memory-groups.js';
import { MemoryLog, type StoredAt } from './memory-log.js';
import { MemoryMember } from './memory-member.js';
import { type MemoryOptions, type MemorySettings, resolveMemoryOptions } from './memory-options.js';
import { MemoryProducer, type MemoryStore } from './memory-producer.js';

export class MemoryDriver implements LogDriver {
  readonly admin: LogAdmin;
  private readonly settings: MemorySettings;
  private readonly store: MemoryStore;
  private readonly opened = new Set<{ end(): Promise<void> }>();
  private made = 0;
  private closed = false;

  constructor(options: MemoryOptions) {
    this.settings = resolveMemoryOptions(options);
    const log = new MemoryLog(this.settings);
    this.store = { log, groups: new MemoryGroups(log), owners: new Map() };
    this.admin = new MemoryAdmin(this.store);
  }

  /** Returns the stored messages of a topic, in order, without those of open transactions. */
  stored(topic: string): readonly StoredAt[] {
    return this.store.log.all(topic);
  }

  producer(options: ProducerOptions = {}): LogProducer {
    this.check();
    const producer = new MemoryProducer(this.store, options);
    this.opened.add({ end: () => producer.close() });
    return producer;
  }

  member(options: MemberOptions, handler: MemberHandler): LogMember {
    this.check();
    const { log, groups } = this.store;
    const group = groups.group(options.group);
    const id = String(this.made++).padStart(12, '0'); // sorts by creation
    const member = new MemoryMember({ id, log, group, settings: this.settings }, options, handler);
    this.opened.add({ end: () => member.stop() });
    return member;
  }

  async close(): Promise<void> {
    this.closed = true;
    for (const each of this.opened) await each.end();
    this.opened.clear();
  }

  private check(): void {
    if (this.closed) throw new KqError('KQ_CLOSED', 'the log is closed');
  }
}

class MemoryAdmin implements LogAdmin {
  constructor(private readonly store: MemoryStore) {}

  watch(created: () => void) {
    return this.store.log.watchCreations(created);
  }

  async topics() {
    const { log } = this.store;
    return log.names.map((topic) => ({ topic, partitions: log.partitions(topic).length }));
  }

  async createTopics(topics: readonly TopicSettings[]) {
    const { log } = this.store;
    const likeOf = (like?: string) =>
      like !== undefined && log.names.includes(like) ? log.partitions(like).length : undefined;
    return topics
      .filter(({ topic, like, partitions }) => log.create(topic, partitions ?? likeOf(like)))
      .map(({ topic }) => topic);
  }

  async ends(topic: string) {
    return this.store.log
      .partitions(topic)
      .map(({ partition, first, readable }) => ({ partition, first, end: readable }));
  }

  endsOfLed(topic: string) {
    return this.ends(topic);
  }

  async offsetsAt(topic: string, time: number, asked?: readonly number[]) {
    const { log } = this.store;
    const logs = asked ? asked.map((each) => log.partition(topic, each)) : log.partitions(topic);
    return logs.map((each) => ({ partition: each.partition, offset: each.offsetAt(time) }));
  }

  async read(topic: string, partition: number, offset: bigint) {
    const { messages } = this.store.log.partition(topic, partition).read(offset, 1);
    return messages.find((message) => message.offset === offset);
  }

  async readFrom(topic: string, partition: number, offset: bigint, maxBytes: number) {
    return this.store.log.partition(topic, partition).read(offset, maxBytes);
  }

  async committed(group: string, topic: string) {
    const { log, groups } = this.store;
    return log.partitions(topic).map(({ partition }) => ({
      partition,
      offset: groups.group(group).committed({ topic, partition }),
    }));
  }

  async setCommitted(group: string, topic: string, offsets: readonly PartitionOffset[]) {
    const { log, groups } = this.store;
    for (const { partition } of offsets) log.partition(topic, partition);
    groups.group(group).set(topic, offsets);
  }
}
