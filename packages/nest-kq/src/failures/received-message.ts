import { KqMessage } from '../api/received.js';
import type { RunSignal } from '../consumer/run-signal.js';
import type { Delivery } from '../consumer/topic-work.js';

export class ReceivedMessage extends KqMessage {
  readonly topic: string;
  readonly partition: number;
  readonly attempt: number;

  constructor(
    private readonly delivery: Delivery,
    readonly value: unknown,
    readonly attempts: number,
    private readonly run: Pick<RunSignal, 'signal'>,
  ) {
    super();
    this.topic = delivery.topic;
    this.partition = delivery.partition;
    this.attempt = delivery.attempt;
  }

  /** Returns undefined for anything but a message that a handler got. */
  static deliveryOf(message: unknown): Delivery | undefined {
    return message instanceof ReceivedMessage ? message.delivery : undefined;
  }

  get signal() {
    return this.run.signal;
  }

  get offset() {
    return String(this.delivery.message.offset);
  }

  get timestamp() {
    return this.delivery.message.timestamp;
  }

  get key() {
    return this.keyBytes?.toString() ?? null;
  }

  get keyBytes() {
    return this.delivery.message.key;
  }

  get headers() {
    return this.delivery.message.headers;
  }

  header(name: string): string | undefined {
    return [this.headers[name]].flat()[0]?.toString();
  }
}
