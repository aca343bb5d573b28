/** One idempotent producer of kafkajs: it stores each message once as long as no request has failed for good. */
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

/** How long kafkajs waits before it tries once more, at least, once it has tried a few times. */
const LONG_PAUSE = 800;
/** Stops kafkajs; the caller gets the reason before it. */
const OVER = 'its time is over';

/** Its types leave out what it takes. */
const NotLoaded = kafkajs.KafkaJSMetadataNotLoaded as new (message: string) => Error;

interface SentRecord extends BatchRecord {
  readonly partition: number;
  /** When kafkajs may not try once more. */
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
  /** The last of all deadlines so far. */
  private until = 0;
  /** Partitions in which a request failed, by `keyOf`: kafkajs has lost count of their messages. */
  private readonly spoiled = new Set<string>();
  /** What kafkajs said last when it tried in vain. */
  private reason = 'no broker answers';

  constructor(
    private readonly client: KafkajsClient,
    private readonly options: ProducerOptions,
  ) {
    const { patience = PATIENCE, transactionalId } = options;
    // Longer than the deadlines, which are looked at before each time.
    const retries = 10 + Math.ceil(patience / LONG_PAUSE);
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
   * Answers in the order of the messages. Those of one partition are one batch. Undefined: of this partition nothing is stored,
   * or it has the numbers that it gets when it is sent next, by which the brokers know it again. kafkajs leaves a partition out
   * whose leader has moved to a broker that has answered already for others.
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
      return offsetsOf(placed, await detached(() => sender.send(record))); // it may connect to a broker
    } catch (error) {
      const failure = meant(error, `cannot store in ${topic}`, { indeterminate: true, away: this.reason });
      // Of one that is wrong by itself, nothing was stored.
      if (!isWrong(failure)) this.spoil(topic, placed);
      throw failure;
    } finally {
      this.underWay--;
      if (this.retired) this.disconnectOnceIdle();
    }
  }

  /**
   * Whether nothing may be stored there by this session: the brokers may have messages of a request that failed, and would
   * take the next ones, to which kafkajs gives the same numbers, for repeated ones: an answer, and nothing stored.
   */
  isSpoiled(topic: string, placed: readonly Placed[]): boolean {
    return (
      this.spoiled.size > 0 && placed.some(({ partition }) => this.spoiled.has(keyOf({ topic, partition })))
    );
  }

  spoil(topic: string, placed: readonly Placed[]): void {
    for (const { partition } of placed) this.spoiled.add(keyOf({ topic, partition }));
  }

  /** Takes no more; what is under way goes on. Resolves once that is over, and its connections are closed. */
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
      // kafkajs only hands them through, to our encoder.
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

  /** kafkajs asks before each time that it sends, which is where it can be stopped. */
  private partitionOf({
    topic,
    message,
    partitionMetadata,
  }: Parameters<ReturnType<kafkajs.ICustomPartitioner>>[0]) {
    const { clock } = this.client;
    const { partition, deadline } = message as unknown as SentRecord;
    if (clock.now() > deadline) throw new Error(OVER); // becomes KQ_AWAY, with the last reason
    // The topic has grown. kafkajs keeps for minutes what it knows, and would leave the message out without a word; by this
    // error it looks at the topic once more.
    if (partition >= partitionMetadata.length)
      throw new NotLoaded(`partition ${partition} of ${topic} is not known yet`);
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
  if (found.every((each) => each === undefined)) throw new Error('kafkajs gave no answer');
  return found;
}
