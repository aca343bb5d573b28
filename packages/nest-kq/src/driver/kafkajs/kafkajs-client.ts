/** Makes clients of kafkajs with our settings, and translates what they log. */
import kafkajs from 'kafkajs';
import type { Kafka, LogEntry } from 'kafkajs';
import type { KqError } from '../../errors.js';
import type { Clock } from '../../time/clock.js';
import type { DriverLog } from '../driver.js';
import type { KafkajsSettings } from './kafkajs-options.js';

/** How kafkajs tries again within one call; what it gives up, we try again. */
export const QUICK_RETRY = {
  initialRetryTime: 100,
  maxRetryTime: 1_000,
  factor: 0.2,
  multiplier: 2,
  retries: 3,
};

export class KafkajsClient {
  readonly clock: Clock;
  readonly log: DriverLog;
  private away = false;

  constructor(readonly settings: KafkajsSettings) {
    this.clock = settings.clock;
    this.log = settings.log;
  }

  /**
   * A client for one use: members of one group that share a client mix up their offsets.
   * @param failed Gets the words of each error, also of those after which kafkajs tries once more.
   */
  kafka(failed: (reason: string) => void = () => {}): Kafka {
    const { brokers, clientId, ssl, sasl, connectionTimeout, requestTimeout } = this.settings;
    return new kafkajs.Kafka({
      brokers: [...brokers],
      clientId,
      ssl,
      sasl,
      connectionTimeout,
      requestTimeout,
      enforceRequestTimeout: true,
      retry: QUICK_RETRY,
      logLevel: kafkajs.logLevel.WARN,
      logCreator: () => (entry) => {
        if (entry.level === kafkajs.logLevel.ERROR) failed(entry.log.message);
        this.note(entry);
      },
    });
  }

  /** Told once, until a broker has answered. */
  tellAway(error: KqError): void {
    if (!this.away) this.log.warn(`no broker answers; it goes on trying: ${error.message}`);
    this.away = true;
  }

  tellBack(): void {
    if (this.away) this.log.warn('the brokers answer again');
    this.away = false;
  }

  delay(milliseconds: number): Promise<void> {
    return new Promise((resolve) => void this.clock.after(milliseconds, resolve));
  }

  /** What matters is in the errors and events that we get; of the rest, only lost messages are no detail. */
  private note({ namespace, log }: LogEntry): void {
    const { message, topic, partition, error, broker } = log;
    if (message.startsWith('Offset out of range')) {
      const place = `partition ${String(partition)} of ${String(topic)}`;
      this.log.warn(`${place} goes on at its first message: the offset that the group had committed is gone`);
      return;
    }
    const more = [broker, error].filter((each) => typeof each === 'string' && !message.includes(each));
    this.log.debug(['kafkajs', namespace, message, ...more].filter(Boolean).join(': '));
  }
}
