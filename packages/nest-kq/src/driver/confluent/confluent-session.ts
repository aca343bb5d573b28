/** One producer of Confluent's client: stores each message exactly once, and reports the fate of each. */
import { detached } from 'nest-handlers/context';
import { KqError } from '../../errors.js';
import { keyOf } from '../assignment.js';
import type { BrokerClient } from '../broker-client.js';
import { PATIENCE, type ProducerOptions, type Sent } from '../driver.js';
import { pairsOf } from '../message.js';
import type { Placed } from '../placing.js';
import {
  called,
  disconnected,
  type ConfluentModule,
  type ConfluentProducerClient,
  type DeliveryReport,
} from './confluent-api.js';
import { producerConfig } from './confluent-config.js';
import { isFatal, meant, ofEvent } from './confluent-errors.js';
import { FirstSends } from './first-sends.js';

const CONNECT_LIMIT = 5_000;

/**
 * For a message that librdkafka presumes stored because a later one of its partition is. `FirstSends` covers the case where it is
 * wrong.
 */
const UNCERTAIN = 'the brokers returned no offset for the message';

type Settle = (error: unknown, offset: number) => void;

export class ConfluentSession {
  readonly producer: ConfluentProducerClient;
  /** The error after which it can't store anything. */
  failure: Error | undefined;
  private connecting: Promise<unknown> | undefined;
  private readonly underWay = new Set<Promise<unknown>>();
  private readonly firsts = new FirstSends();

  constructor(
    private readonly client: BrokerClient,
    module: ConfluentModule,
    options: ProducerOptions,
  ) {
    this.producer = new module.Producer(
      producerConfig(client.settings, options, options.patience ?? PATIENCE),
    );
    this.producer.on('delivery-report', (error, { offset, opaque }: DeliveryReport) => {
      (opaque as Settle)(error, offset);
    });
    this.producer.on('error', (error) => client.log.warn(`Confluent's client: ${error.message}`));
    this.producer.on('event.error', (error) => {
      if (isFatal(ofEvent(error))) this.failure ??= error;
      client.log.debug(`Confluent's client: ${error.message}`);
    });
  }

  /** Rejects with `KQ_AWAY` or `KQ_REFUSED`. */
  async connect(): Promise<void> {
    try {
      await (this.connecting ??= detached(() => this.open()));
    } catch (error) {
      this.connecting = undefined;
      throw meant(error, 'cannot connect to Kafka');
    }
  }

  /** Hands messages over in order, even across calls; resolves with the fate of each, and never rejects. */
  send(
    topic: string,
    placed: readonly Placed[],
    answered: (index: number, sent: Sent) => void = () => {},
  ): Promise<Sent[]> {
    const handing = placed.map(async (each) => {
      const place = keyOf({ topic, partition: each.partition });
      const sent = await this.firsts.send(place, () => this.hand(topic, each));
      answered(each.index, sent);
      return sent;
    });
    const sending = Promise.all(handing);
    this.underWay.add(sending);
    void sending.then(() => this.underWay.delete(sending));
    return sending;
  }

  /** Waits for pending messages and closes the connections. Never rejects. */
  async retire(): Promise<void> {
    await Promise.allSettled([this.connecting, ...this.underWay]);
    await disconnected(this.producer);
  }

  private async open(): Promise<void> {
    await called((done) => this.producer.connect({ allTopics: false, timeout: CONNECT_LIMIT }, done));
    this.producer.setPollInBackground(true);
  }

  private hand(topic: string, { partition, message }: Placed): Promise<Sent> {
    const { key, value, headers = {}, timestamp = this.client.clock.wall() } = message;
    const pairs = pairsOf(headers).map(([name, value]) => ({ [name]: value }));
    return new Promise((resolve) => {
      const settle: Settle = (error, offset) => {
        if (error) resolve(meant(error, `cannot store in ${topic}`, true));
        else if (offset >= 0) resolve({ partition, offset: BigInt(offset) });
        else
          resolve(new KqError('KQ_AWAY', `cannot store in ${topic}: ${UNCERTAIN}`, { indeterminate: true }));
      };
      try {
        this.producer.produce(topic, partition, value, key, timestamp, settle, pairs);
      } catch (error) {
        resolve(meant(error, `cannot store in ${topic}`));
      }
    });
  }
}
