import { TOPIC_NAMES, isTopicName } from '../../api/topic-name.js';
import { KqError, wrongValue } from '../../errors.js';
import { choosePartition, noPartition, type Partitioner } from '../partitioning.js';
import type { LogMessage, OutgoingMessage, PartitionOffset } from '../message.js';
import type { MemorySettings } from './memory-options.js';
import { PartitionLog, sizeOf, type TransactionMark } from './partition-log.js';

interface Topic {
  readonly partitions: readonly PartitionLog[];
  bytes: number;
  appended: number;
  /** Whether dropping messages was reported. */
  told: boolean;
}

/** A message and its partition. */
export interface StoredAt {
  readonly partition: number;
  readonly message: LogMessage;
}

/** The topics of this process. */
export class MemoryLog {
  private readonly topics = new Map<string, Topic>();
  private readonly creations = new Set<() => void>();
  private readonly watchers = new Set<(topic: string) => void>();

  constructor(private readonly settings: MemorySettings) {}

  get names(): readonly string[] {
    return [...this.topics.keys()].sort();
  }

  /** @returns False if it already exists, and stays as it is. */
  create(name: string, partitions = this.settings.partitions): boolean {
    if (!isTopicName(name)) throw wrongValue('KQ_CONFIG', 'the topic', name, TOPIC_NAMES);
    if (!Number.isSafeInteger(partitions) || partitions < 1)
      throw new KqError(
        'KQ_CONFIG',
        `the partition count of ${name} is ${partitions}: expected a whole number, 1 or more`,
      );
    if (this.topics.has(name)) return false;
    const logs = Array.from({ length: partitions }, (_, partition) => new PartitionLog(partition));
    this.topics.set(name, { partitions: logs, bytes: 0, appended: 0, told: false });
    for (const created of this.creations) created();
    return true;
  }

  /** Returns the partitions of a topic. Throws `KQ_UNKNOWN_TOPIC` if it is missing and not created. */
  partitions(name: string): readonly PartitionLog[] {
    return this.topic(name).partitions;
  }

  partition(topic: string, partition: number): PartitionLog {
    const partitions = this.partitions(topic);
    const found = partitions[partition];
    if (!found) throw noPartition(topic, partition, partitions.length);
    return found;
  }

  /** Returns the readable messages of a topic, in order of storage. */
  all(topic: string): readonly StoredAt[] {
    return this.partitions(topic)
      .flatMap((log) => log.all().map((entry) => ({ ...entry, partition: log.partition })))
      .sort((a, b) => a.order - b.order);
  }

  /** @param keyless Selects the partition of a message without key and partition; any number. */
  append(
    topic: string,
    message: OutgoingMessage,
    keyless: number,
    partitioner: Partitioner | undefined,
    transaction?: TransactionMark,
  ): PartitionOffset | KqError {
    const found = this.topic(topic);
    const count = found.partitions.length;
    const partition = choosePartition(topic, message, count, partitioner) ?? keyless % count;
    if (partition instanceof KqError) return partition;
    const log = found.partitions[partition]!;
    const size = sizeOf(message);
    const { maxMessageBytes: most } = this.settings;
    if (size > most)
      return new KqError(
        'KQ_TOO_LARGE',
        `the message for ${topic} has ${size} bytes: expected at most ${most}`,
      );
    const offset = log.end;
    const at = { time: this.settings.clock.wall(), order: found.appended++ };
    found.bytes += log.append(message, at, transaction);
    this.retain(topic, found);
    return { partition, offset };
  }

  /** Call once its messages are readable. */
  notify(topic: string): void {
    for (const watcher of this.watchers) watcher(topic);
  }

  endTransaction(transaction: TransactionMark, committed: boolean): void {
    for (const [name, topic] of this.topics) {
      for (const log of topic.partitions) topic.bytes -= log.endTransaction(transaction, committed);
      this.notify(name);
    }
  }

  /** @returns A function that ends it. */
  watch(watcher: (topic: string) => void): () => void {
    this.watchers.add(watcher);
    return () => void this.watchers.delete(watcher);
  }

  /** Calls back when a topic is created. @returns A function that ends it. */
  watchCreations(created: () => void): () => void {
    this.creations.add(created);
    return () => void this.creations.delete(created);
  }

  has(name: string): boolean {
    return this.topics.has(name) || this.settings.autoCreate;
  }

  private topic(name: string): Topic {
    const found = this.topics.get(name);
    if (found) return found;
    if (!this.settings.autoCreate)
      throw new KqError('KQ_UNKNOWN_TOPIC', `there is no topic ${JSON.stringify(name)}`);
    this.create(name);
    return this.topic(name);
  }

  private retain(name: string, topic: Topic): void {
    const { retainBytes, retainMessages, log } = this.settings;
    let count = topic.partitions.reduce((sum, each) => sum + each.count, 0);
    while (topic.bytes > retainBytes || count > retainMessages) {
      const oldest = topic.partitions.reduce((a, b) => (b.firstOrder < a.firstOrder ? b : a));
      topic.bytes -= oldest.dropFirst();
      count--;
      if (topic.told) continue;
      topic.told = true;
      const limits = `${retainBytes} bytes, ${retainMessages} messages`;
      log.warn(`topic ${name} is full (${limits}): dropping its oldest messages from now on, read or not`);
    }
  }
}
