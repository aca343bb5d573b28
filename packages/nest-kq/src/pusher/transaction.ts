import type { MessageOptions, Pushed } from '../api/message.js';
import type { Topic } from '../api/topic.js';
import type { KqMessage } from '../api/received.js';
import { HandledMessages } from '../consumer/handled-messages.js';
import type { LogDriver, LogTransaction, Sent } from '../driver/driver.js';
import type { OutgoingMessage } from '../driver/message.js';
import { KqError, toError, wrongValue } from '../errors.js';
import { ReceivedMessage } from '../failures/received-message.js';
import type { Clock } from 'nest-handlers/time';
import { Gatherer, type GathererOptions } from './gatherer.js';
import { KqTransaction } from './pusher.js';
import { Pushes, type MessageOfMany, type PushParts } from './pushes.js';

/** Collects the pushes of one transaction and ends it. */
export class PusherTransaction extends KqTransaction {
  private readonly pushes: Pushes;
  private readonly messages: HandledMessages;
  /** Calls that have not settled. */
  private readonly underWay = new Set<Promise<unknown>>();
  /** Error of the first call that failed. */
  private failure: Error | undefined;
  private over = false;

  constructor(
    driver: LogDriver,
    private readonly transaction: LogTransaction,
    clock: Clock,
    options: GathererOptions,
    parts: PushParts,
  ) {
    super();
    this.messages = new HandledMessages(driver);
    const send = (topic: string, messages: readonly OutgoingMessage[]) => this.send(topic, messages);
    this.pushes = new Pushes(new Gatherer({ send }, clock, options), parts);
  }

  /** Whether its `work` is still running. */
  get open(): boolean {
    return !this.over;
  }

  push(topic: string | Topic, value: unknown, options?: MessageOptions): Promise<Pushed> {
    return this.during(() => this.pushes.push(topic, value, options));
  }

  pushMany(topic: string | Topic, messages: Iterable<MessageOfMany>): Promise<Pushed[]> {
    return this.during(async () => {
      const results = await this.pushes.pushMany(topic, messages);
      return results.map(({ pushed, error }) => {
        if (error) throw error;
        return pushed;
      });
    });
  }

  handled(messages: KqMessage | readonly KqMessage[]): void {
    if (this.over) throw ended();
    try {
      for (const message of [messages].flat()) {
        const delivery = ReceivedMessage.deliveryOf(message);
        if (!delivery)
          throw wrongValue(
            'KQ_BAD_MESSAGE',
            'the argument of tx.handled()',
            message,
            'a message a handler received',
          );
        this.messages.add(delivery);
      }
    } catch (error) {
      this.failure ??= toError(error);
      throw error;
    }
  }

  /** Rejects with the error of any of its calls, awaited or not. */
  async commit(): Promise<void> {
    this.over = true;
    await Promise.all(this.underWay);
    if (this.failure) throw this.failure;
    await this.messages.commit(this.transaction);
  }

  /** Never rejects. */
  async abort(): Promise<void> {
    this.over = true;
    await this.transaction.abort();
    await Promise.all(this.underWay);
  }

  private during<T>(call: () => Promise<T>): Promise<T> {
    if (this.over) return Promise.reject(ended());
    const calling = call();
    const settled: Promise<void> = calling.then(
      () => void this.underWay.delete(settled),
      (error: unknown) => {
        this.underWay.delete(settled);
        this.failure ??= toError(error);
      },
    );
    this.underWay.add(settled);
    return calling;
  }

  private async send(topic: string, messages: readonly OutgoingMessage[]): Promise<readonly Sent[]> {
    try {
      return await this.transaction.send(topic, messages);
    } catch (error) {
      if (error instanceof KqError) return messages.map(() => error);
      throw error;
    }
  }
}

function ended(): KqError {
  return new KqError('KQ_TRANSACTION', 'the transaction has ended');
}
