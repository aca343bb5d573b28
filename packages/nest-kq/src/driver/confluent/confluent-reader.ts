/** Reads messages of single partitions outside of any group, with one persistent consumer, one read at a time. */
import { KqError } from '../../errors.js';
import type { BrokerClient } from '../broker-client.js';
import type { ReadMessages } from '../driver.js';
import type { TopicPartition } from '../message.js';
import {
  called,
  disconnected,
  type ConfluentConsumerClient,
  type ConfluentMessage,
  type ConfluentModule,
  type PlaceWithOffset,
} from './confluent-api.js';
import { outsiderConfig } from './confluent-config.js';
import { isOfGroup, isOutOfRange } from './confluent-errors.js';
import { readMessage } from './intake.js';
import { QueueSignal } from './queue-signal.js';

const CONNECT_LIMIT = 5_000;
/** Time limit for the first message or the end. */
const READ_LIMIT_MS = 10_000;
const CHUNK = 500;
/** The client requires a group; it is neither joined nor committed to. */
const GROUP = 'nest-kq.reader';

export class ConfluentReader {
  private consumer: Promise<ConfluentConsumerClient> | undefined;
  private readonly signal: QueueSignal;
  /** The end reported by the client since the last assignment. */
  private end: PlaceWithOffset | undefined;
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly client: BrokerClient,
    private readonly module: ConfluentModule,
  ) {
    this.signal = new QueueSignal(client.clock);
  }

  /** Like `LogAdmin.readFrom`, for an existing partition; undefined if it has nothing at this offset. */
  read(place: TopicPartition, offset: bigint, maxBytes: number): Promise<ReadMessages | undefined> {
    const before = this.last;
    const reading = (async () => {
      await before;
      return this.readNow(place, offset, maxBytes);
    })();
    this.last = reading.catch(() => undefined); // its caller gets the error
    return reading;
  }

  /** Never rejects. */
  async close(): Promise<void> {
    await this.last;
    const consumer = await this.consumer?.catch(() => undefined);
    if (consumer) await disconnected(consumer);
  }

  private async readNow(place: TopicPartition, offset: bigint, maxBytes: number) {
    const consumer = await (this.consumer ??= this.connect());
    this.end = undefined;
    consumer.assign([{ ...place, offset: Number(offset) }]);
    try {
      return await this.fetched(consumer, offset, maxBytes);
    } catch (error) {
      if (isOutOfRange(error)) return undefined;
      throw error;
    } finally {
      consumer.unassign();
    }
  }

  private async fetched(
    consumer: ConfluentConsumerClient,
    offset: bigint,
    maxBytes: number,
  ): Promise<ReadMessages> {
    const { clock } = this.client;
    for (const limit = clock.now() + READ_LIMIT_MS; clock.now() < limit;) {
      const woken = this.signal.next(READ_LIMIT_MS);
      const chunk = await this.consume(consumer);
      if (chunk.length > 0) return within(chunk, maxBytes);
      if (this.end) return { messages: [], next: BigInt(Math.max(this.end.offset, Number(offset))) };
      await woken;
    }
    throw new KqError('KQ_AWAY', 'no broker answers');
  }

  private async consume(consumer: ConfluentConsumerClient): Promise<readonly ConfluentMessage[]> {
    try {
      return await called((done) => consumer.consume(CHUNK, done));
    } catch (error) {
      if (isOfGroup(error)) return []; // an unused group needs no permission
      throw error;
    }
  }

  private async connect(): Promise<ConfluentConsumerClient> {
    const { settings, log } = this.client;
    const consumer = new this.module.KafkaConsumer(
      { ...outsiderConfig(settings, GROUP), queue_non_empty_cb: this.signal.wake },
      { 'auto.offset.reset': 'error' },
    );
    consumer.on('error', (error) => log.debug(`Confluent's client: ${error.message}`));
    consumer.on('partition.eof', (end) => (this.end = end));
    try {
      await called((done) => consumer.connect({ allTopics: false, timeout: CONNECT_LIMIT }, done));
    } catch (error) {
      this.consumer = undefined;
      throw error;
    }
    consumer.setDefaultConsumeTimeout(0);
    return consumer;
  }
}

/** Returns as many messages as fit in these bytes, and at least one. */
function within(chunk: readonly ConfluentMessage[], maxBytes: number): ReadMessages {
  let bytes = 0;
  const end = chunk.findIndex(({ key, value }, index) => {
    bytes += (key?.length ?? 0) + (value?.length ?? 0);
    return index > 0 && bytes > maxBytes;
  });
  const messages = (end < 0 ? chunk : chunk.slice(0, end)).map(readMessage);
  return { messages, next: messages.at(-1)!.offset + 1n };
}
