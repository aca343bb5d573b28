/** Creates clients of kafkajs with our settings, and translates their log. */
import kafkajs from 'kafkajs';
import type { Kafka, LogEntry } from 'kafkajs';
import { BrokerClient } from '../broker-client.js';
import { kafkajsSasl } from './bearer-login.js';
import { eachCluster } from './cluster-brokers.js';
import { readByOurselves } from './connections.js';

/** Retries of kafkajs within one call; when it gives up, we retry. */
export const QUICK_RETRY = {
  initialRetryTime: 100,
  maxRetryTime: 1_000,
  factor: 0.2,
  multiplier: 2,
  retries: 3,
};

/** Retries for about a minute on connections kafkajs already has. */
export const LONG_RETRY = { ...QUICK_RETRY, retries: 60 };

const IN_VAIN = 'Failed to connect to seed broker';

export interface ClientUse {
  /** Max retries of a connection. @default a few, within about a second */
  readonly retries?: number;
  /** Whether to give up. @default never */
  readonly ended?: () => boolean;
  /** Takes the message of each error, including those that kafkajs retries. */
  readonly failed?: (reason: string) => void;
}

export class KafkajsClient extends BrokerClient {
  /** Number of kafkajs clients created. */
  private made = 0;

  /** Creates a client for one use: group members that share a client mix up their offsets. */
  kafka({ retries = QUICK_RETRY.retries, ended = () => false, failed = () => {} }: ClientUse = {}): Kafka {
    const { brokers, clientId, ssl, sasl, connectionTimeout, requestTimeout } = this.settings;
    const first = this.made++ % brokers.length; // so that not all clients wait for the same broker
    const list = [...brokers.slice(first), ...brokers.slice(0, first)];
    const kafka = new kafkajs.Kafka({
      // An empty list is what kafkajs considers hopeless, and the only way to stop its attempts to connect.
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

  /** Errors and events already report what matters; of the rest, only lost messages are more than a detail. */
  private note({ namespace, log }: LogEntry): void {
    const { message, topic, partition, error, broker } = log;
    if (message.startsWith(IN_VAIN)) this.reportAway(message.slice(message.indexOf(': ') + 2));
    if (message.startsWith('Offset out of range')) {
      const place = `partition ${String(partition)} of ${String(topic)}`;
      this.log.warn(`${place} continues at its first message: the group's committed offset is gone`);
      return;
    }
    const more = [broker, error].filter((each) => typeof each === 'string' && !message.includes(each));
    this.log.debug(['kafkajs', namespace, message, ...more].filter(Boolean).join(': '));
  }
}
