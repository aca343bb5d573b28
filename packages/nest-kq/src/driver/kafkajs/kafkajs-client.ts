/** Makes clients of kafkajs with our settings, and translates what they log. */
import kafkajs from 'kafkajs';
import type { Kafka, LogEntry } from 'kafkajs';
import { BrokerClient } from '../broker-client.js';
import { kafkajsSasl } from './bearer-login.js';
import { eachCluster } from './cluster-brokers.js';
import { readByOurselves } from './connections.js';

/** How kafkajs tries again within one call; what it gives up, we try again. */
export const QUICK_RETRY = {
  initialRetryTime: 100,
  maxRetryTime: 1_000,
  factor: 0.2,
  multiplier: 2,
  retries: 3,
};

/** For how long kafkajs itself goes on by the connections that it has, about a minute. */
export const LONG_RETRY = { ...QUICK_RETRY, retries: 60 };

const IN_VAIN = 'Failed to connect to seed broker';

export interface ClientUse {
  /** How often it tries again to connect. @default a few times, within about a second */
  readonly retries?: number;
  /** Whether it is to give up. @default never */
  readonly ended?: () => boolean;
  /** Gets the words of each error, also of those after which kafkajs tries once more. */
  readonly failed?: (reason: string) => void;
}

export class KafkajsClient extends BrokerClient {
  /** Clients of kafkajs. */
  private made = 0;

  /** A client for one use: members of one group that share a client mix up their offsets. */
  kafka({ retries = QUICK_RETRY.retries, ended = () => false, failed = () => {} }: ClientUse = {}): Kafka {
    const { brokers, clientId, ssl, sasl, connectionTimeout, requestTimeout } = this.settings;
    const first = this.made++ % brokers.length; // so that not all clients wait for the same one
    const list = [...brokers.slice(first), ...brokers.slice(0, first)];
    const kafka = new kafkajs.Kafka({
      // None: what kafkajs takes for hopeless, and so the one way to end its attempts to connect.
      brokers: () => (ended() ? [] : list),
      clientId,
      ssl,
      sasl: kafkajsSasl(sasl),
      connectionTimeout,
      requestTimeout,
      enforceRequestTimeout: true,
      retry: { ...QUICK_RETRY, retries },
      logLevel: kafkajs.logLevel.WARN,
      logCreator: () => (entry) => {
        if (entry.level === kafkajs.logLevel.ERROR) failed(entry.log.message);
        this.note(entry);
      },
    });
    eachCluster(kafka, (cluster) => readByOurselves(cluster, this.clock));
    return kafka;
  }

  /** What matters is in the errors and events that we get; of the rest, only lost messages are no detail. */
  private note({ namespace, log }: LogEntry): void {
    const { message, topic, partition, error, broker } = log;
    if (message.startsWith(IN_VAIN)) this.tellAway(message.slice(message.indexOf(': ') + 2));
    if (message.startsWith('Offset out of range')) {
      const place = `partition ${String(partition)} of ${String(topic)}`;
      this.log.warn(`${place} goes on at its first message: the offset that the group had committed is gone`);
      return;
    }
    const more = [broker, error].filter((each) => typeof each === 'string' && !message.includes(each));
    this.log.debug(['kafkajs', namespace, message, ...more].filter(Boolean).join(': '));
  }
}
