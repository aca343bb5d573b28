import type { MessageOptions, Pushed } from '../api/message.js';
import type { Topic } from '../api/topic.js';
import type { LogTransaction, Sent } from '../driver/driver.js';
import type { OutgoingMessage } from '../driver/message.js';
import { KqError, toError } from '../errors.js';
import type { Clock } from 'nest-handlers/time';
import { Gatherer, type GathererOptions } from './gatherer.js';
import { KqTransaction } from './pusher.js';
import { Pushes, type MessageOfMany, type PushParts } from './pushes.js';

/** Gathers the pushes of one transaction, and ends it. */
export class PusherTransaction extends KqTransaction {
  private readonly pushes: Pushes;
  /** Calls that have not settled. */
  private readonly underWay = new Set<Promise<unknown>>();
  /** Of the first call that failed. */
  private failure: Error | undefined;
  private over = false;

  constructor(
    private readonly transaction: LogTransaction,
    clock: Clock,
    options: GathererOptions,
    parts: PushParts,
  ) {
    super();
    const send = (topic: string, messages: readonly OutgoingMessage[]) => this.send(topic, messages);
    this.pushes = new Pushes(new Gatherer({ send }, clock, options), parts);
  }

  /** Its `work` has not returned. */
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

  /** Throws what one of its pushes has thrown, awaited or not. */
  async commit(): Promise<void> {
    this.over = true;
    await Promise.all(this.underWay);
    if (this.failure) throw this.failure;
    await this.transaction.commit();
  }

  /** Never rejects. */
  async abort(): Promise<void> {
    this.over = true;
    await this.transaction.abort();
    await Promise.all(this.underWay);
  }

  private during<T>(call: () => Promise<T>): Promise<T> {
    if (this.over) return Promise.reject(new KqError('KQ_TRANSACTION', 'the transaction has ended'));
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
