/** One idempotent producer of kafkajs: stores each message exactly once as long as no request has failed for good. */
import { detached } from 'nest-handlers/context';
import kafkajs from 'kafkajs';
import type { Producer, ProducerRecord, RecordMetadata } from 'kafkajs';
import { PATIENCE, type ProducerOptions } from '../driver.js';
import type { OutgoingMessage, PartitionOffset } from '../message.js';
import { keyOf } from '../assignment.js';
import { typeOf } from './codecs.js';
import { type KafkajsClient, QUICK_RETRY } from './kafkajs-client.js';
import { eachCluster } from './cluster-brokers.js';
import { sendOffsetsAsMembers } from './group-requests.js';
import { meant } from './kafkajs-errors.js';
import { encodeByOurselves } from './produce-requests.js';
import type { BatchRecord } from './record-batch.js';
import type { Placed } from '../placing.js';
import { isWrong } from './requests.js';

/** Min pause before a retry of kafkajs after the first few. */
const LONG_PAUSE_MS = 800;
/** Stops kafkajs; the caller gets the previous reason instead. */
const OVER = 'it timed out';

/** Its types omit a parameter that it takes. */
const NotLoaded = kafkajs.KafkaJSMetadataNotLoaded as new (message: string) => Error;

interface SentRecord extends BatchRecord {
  readonly partition: number;
  /** Clock time after which kafkajs may not retry. */
  readonly deadline: number;
}

/** A producer, or one of its transactions. */
type Sender = Pick<Producer, 'send'>;

export class Session {
  readonly producer: Producer;
  private connecting: Promise<void> | undefined;
  private underWay = 0;
  private retired = false;
  private gone = () => {};
  private readonly ended = new Promise<void>((resolve) => (this.gone = resolve));
  /** The latest deadline so far. */
  private until = 0;
  /** Partitions with a failed request, by `keyOf`: kafkajs has lost count of their sequence numbers. */
  private readonly spoiled = new Set<string>();
  /** The last error of a kafkajs attempt. */
  private reason = 'no broker answers';

  constructor(
    private readonly client: KafkajsClient,
    private readonly options: ProducerOptions,
  ) {
    const { patience = PATIENCE, transactionalId } = options;
    // Longer than the deadlines, which are checked before each attempt.
    const retries = 10 + Math.ceil(patience / LONG_PAUSE_MS);
    const kafka = client.kafka({
      retries,
      ended: () => (this.retired && this.underWay === 0) || client.clock.now() > this.until,
      failed: (reason) => {
        if (reason !== OVER) this.reason = reason;
      },
    });
    eachCluster(kafka, (cluster) => {
      encodeByOurselves(cluster);
      if (transactionalId !== undefined) sendOffsetsAsMembers(cluster);
    });
    this.producer = kafka.producer({
      idempotent: true,
      maxInFlightRequests: transactionalId === undefined ? undefined : 1,
      transactionalId,
      allowAutoTopicCreation: false,
      retry: { ...QUICK_RETRY, retries },
      createPartitioner: () => (args) => this.partitionOf(args),
    });
  }

  /** Rejects with `KQ_AWAY` or `KQ_REFUSED`. */
  async connect(deadline: number): Promise<void> {
    this.until = Math.max(this.until, deadline);
    try {
      await (this.connecting ??= detached(() => this.producer.connect()));
    } catch (error) {
      throw meant(error, 'cannot connect to Kafka', { away: this.reason });
    }
  }

  /**
   * Resolves with answers in the order of the messages. Messages of one partition form one batch. Undefined if nothing of the
   * partition is stored, or it has the same sequence numbers as when it is resent, by which the brokers recognize it: kafkajs
   * skips a partition whose leader has moved to a broker that has already answered for others.
   */
  async send(
    topic: string,
    placed: readonly Placed[],
    deadline: number,
    sender: Sender = this.producer,
  ): Promise<(PartitionOffset | undefined)[]> {
    this.underWay++;
    this.until = Math.max(this.until, deadline);
    try {
      const record = this.record(topic, placed, deadline);
      return offsetsOf(placed, await detached(() => sender.send(record))); // may connect to a broker
    } catch (error) {
      const failure = meant(error, `cannot store in ${topic}`, { indeterminate: true, away: this.reason });
      // Nothing was stored of a message that is itself invalid.
      if (!isWrong(failure)) this.spoil(topic, placed);
      throw failure;
    } finally {
      this.underWay--;
      if (this.retired) this.disconnectOnceIdle();
    }
  }

  /**
   * Whether this session must not store anything more there: the brokers may have messages of a failed request, and would take
   * the next ones, to which kafkajs assigns the same sequence numbers, for duplicates: acknowledged, but not stored.
   */
  isSpoiled(topic: string, placed: readonly Placed[]): boolean {
    return (
      this.spoiled.size > 0 && placed.some(({ partition }) => this.spoiled.has(keyOf({ topic, partition })))
    );
  }

  spoil(topic: string, placed: readonly Placed[]): void {
    for (const { partition } of placed) this.spoiled.add(keyOf({ topic, partition }));
  }

  /** Accepts no more messages; pending ones continue. Resolves once they are done and the connections are closed. */
  retire(): Promise<void> {
    if (!this.retired) {
      this.retired = true;
      this.disconnectOnceIdle();
    }
    return this.ended;
  }

  private disconnectOnceIdle(): void {
    if (this.underWay > 0) return;
    this.producer.disconnect().then(this.gone, (error: unknown) => {
      this.client.log.debug(`a producer could not disconnect: ${String(error)}`);
      this.gone();
    });
  }

  private record(topic: string, placed: readonly Placed[], deadline: number): ProducerRecord {
    return {
      topic,
      acks: -1,
      timeout: this.client.settings.requestTimeout,
      compression: typeOf(this.options.compression),
      // kafkajs only passes them on, to our encoder.
      messages: placed.map(({ partition, message }) =>
        this.outgoing(partition, message, deadline),
      ) as never[],
    };
  }

  private outgoing(
    partition: number,
    { key, value, headers = {}, timestamp }: OutgoingMessage,
    deadline: number,
  ): SentRecord {
    return { partition, key, value, headers, timestamp: timestamp ?? this.client.clock.wall(), deadline };
  }

  /** Called by kafkajs before each attempt, which is where it can be stopped. */
  private partitionOf({
    topic,
    message,
    partitionMetadata,
  }: Parameters<ReturnType<kafkajs.ICustomPartitioner>>[0]) {
    const { clock } = this.client;
    const { partition, deadline } = message as unknown as SentRecord;
    if (clock.now() > deadline) throw new Error(OVER); // becomes KQ_AWAY with the last reason
    // The topic has grown. kafkajs caches its metadata for minutes and would silently drop the message; this error makes it
    // refresh the topic.
    if (partition >= partitionMetadata.length)
      throw new NotLoaded(`partition ${partition} of ${topic} is still unknown`);
    return partition;
  }
}

function offsetsOf(
  placed: readonly Placed[],
  answers: readonly RecordMetadata[],
): (PartitionOffset | undefined)[] {
  const next = new Map<number, bigint>();
  for (const { partition, baseOffset, offset } of answers)
    next.set(partition, BigInt(baseOffset ?? offset ?? -1));
  const found = placed.map(({ partition }) => {
    const offset = next.get(partition);
    if (offset === undefined) return undefined;
    next.set(partition, offset + 1n);
    return { partition, offset };
  });
  if (found.every((each) => each === undefined)) throw new Error('kafkajs returned no result');
  return found;
}
