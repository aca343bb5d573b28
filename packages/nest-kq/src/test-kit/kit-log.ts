import type { Clock } from 'nest-handlers/time';
import { decodeValue, type Format } from '../api/format.js';
import { formatOf, topicName, type Topic } from '../api/topic.js';
import type {
  DriverLog,
  LogBatch,
  LogDriver,
  LogMember,
  LogProducer,
  MemberHandler,
} from '../driver/driver.js';
import { MemoryDriver } from '../driver/memory/memory-driver.js';
import type { Headers } from '../driver/message.js';
import { KqError, show } from '../errors.js';

/** A stored message of a topic. */
export interface StoredMessage<V = unknown> {
  /** Partition number, from 0. */
  readonly partition: number;
  /** Offset in the partition, in decimal digits. */
  readonly offset: string;
  /** The key as UTF-8, or null if there is none. */
  readonly key: string | null;
  /** The value decoded by the topic's format, before its schema. Null for a tombstone. */
  readonly value: V | null;
  /** Headers as UTF-8; a list if a name has several values. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** In ms since 1970. */
  readonly timestamp: number;
}

/** Stands in for the brokers of one cluster. Shared by all applications of the kit whose cluster has this name. */
export class KitLog {
  private readonly driver: MemoryDriver;
  private readonly gates = new Set<Gate>();
  private isOpen = false;

  constructor(clock: Clock, partitions: number, log: DriverLog) {
    this.driver = new MemoryDriver({ clock, log, partitions });
  }

  letRun(): void {
    this.isOpen = true;
    for (const gate of this.gates) gate.letPass();
  }

  hold(): void {
    this.isOpen = false;
  }

  /** Returns one application's access to it, which closes only what it has opened. */
  reach(closed: () => void): LogDriver {
    const producers: LogProducer[] = [];
    const members: LogMember[] = [];
    return {
      admin: this.driver.admin,
      producer: (options) => {
        const producer = this.driver.producer(options);
        producers.push(producer);
        return producer;
      },
      member: (options, handler) => {
        const gate = new Gate(handler, () => this.isOpen);
        this.gates.add(gate);
        const member = this.driver.member(options, gate);
        members.push(member);
        return member;
      },
      close: async () => {
        for (const producer of producers) await producer.close();
        for (const member of members) await member.stop();
        closed();
      },
    };
  }

  /** Returns the messages in the order they were pushed. */
  messages(topic: string | Topic): StoredMessage[] {
    const format = formatOf(topic);
    return this.driver.stored(topicName(topic)).map(({ partition, message }) => ({
      partition,
      offset: String(message.offset),
      key: message.key?.toString() ?? null,
      value: decodeNow(format, message.value, topicName(topic)),
      headers: asTexts(message.headers),
      timestamp: message.timestamp,
    }));
  }
}

/** Holds back batches until a journey starts: without them no handler runs. */
class Gate implements MemberHandler {
  private held: LogBatch[] = [];

  constructor(
    private readonly handler: MemberHandler,
    private readonly isOpen: () => boolean,
  ) {}

  letPass(): void {
    for (const batch of this.held.splice(0)) this.handler.batch(batch);
  }

  batch(batch: LogBatch): void {
    if (this.isOpen()) this.handler.batch(batch);
    else this.held.push(batch);
  }

  rejoining(): Promise<void> {
    return this.handler.rejoining();
  }

  confirmed(until: number): void {
    this.handler.confirmed(until);
  }

  assigned(...now: Parameters<MemberHandler['assigned']>): void {
    this.held = []; // these come again
    this.handler.assigned(...now);
  }

  unavailable(...what: Parameters<NonNullable<MemberHandler['unavailable']>>): void {
    this.handler.unavailable?.(...what);
  }

  failed(...why: Parameters<MemberHandler['failed']>): void {
    this.held = [];
    this.handler.failed(...why);
  }
}

function decodeNow(format: Format, stored: Buffer | null, topic: string): unknown {
  const value = decodeValue(format, stored, topic);
  if (!(value instanceof Promise)) return value;
  value.catch(() => undefined); // reported here
  const expected = `a synchronous one, or the stored bytes: defineTopic(${show(topic)}, { format: 'bytes' })`;
  throw new KqError('KQ_BAD_MESSAGE', `the format of ${show(topic)} is asynchronous: expected ${expected}`);
}

function asTexts(headers: Headers): StoredMessage['headers'] {
  const entries = Object.entries(headers).map(([name, values]) => {
    return [name, Buffer.isBuffer(values) ? values.toString() : values.map(String)] as const;
  });
  return Object.fromEntries(entries);
}
