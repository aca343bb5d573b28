import { AsyncLocalStorage } from 'node:async_hooks';
import type { DelayedPush, LaterOptions, MessageOptions, Pushed, PushResult } from '../api/message.js';
import { topicName, type Topic } from '../api/topic.js';
import type { DelaysPort } from '../delays/delays.js';
import type { LogDriver, LogProducer } from '../driver/driver.js';
import { KqError, wrongValue } from '../errors.js';
import type { Clock } from 'nest-handlers/time';
import { Gatherer } from './gatherer.js';
import { KqPusher, type KqTransaction } from './pusher.js';
import type { PusherSettings } from './pusher-options.js';
import { Pushes, type MessageOfMany, type PushParts } from './pushes.js';
import { PusherTransaction } from './transaction.js';

export interface PusherParts extends PushParts {
  readonly delays: DelaysPort;
}

/** The pusher of one cluster of brokers. */
export class LogPusher extends KqPusher {
  private readonly producer: LogProducer;
  private readonly gatherer: Gatherer;
  private readonly pushes: Pushes;
  private transactional: LogProducer | undefined;
  /** The transaction whose `work` is running, for calls made from it. */
  private readonly inside = new AsyncLocalStorage<PusherTransaction>();
  private closing: Promise<void> | undefined;

  constructor(
    private readonly driver: LogDriver,
    private readonly clock: Clock,
    private readonly settings: PusherSettings,
    private readonly parts: PusherParts,
  ) {
    super();
    this.producer = driver.producer(settings.producer);
    this.gatherer = new Gatherer(this.producer, clock, settings.gatherer);
    this.pushes = new Pushes(this.gatherer, parts);
  }

  push(topic: string | Topic, value: unknown, options: LaterOptions): Promise<DelayedPush>;
  push(topic: string | Topic, value: unknown, options?: MessageOptions): Promise<Pushed>;
  push(
    topic: string | Topic,
    value: unknown,
    options?: MessageOptions | LaterOptions,
  ): Promise<Pushed | DelayedPush> {
    if (this.closing) return closed();
    return isLater(options) ? this.pushLater(topic, value, options) : this.pushes.push(topic, value, options);
  }

  pushMany(topic: string | Topic, messages: Iterable<MessageOfMany>): Promise<PushResult[]> {
    return this.closing ? closed() : this.pushes.pushMany(topic, messages);
  }

  /** Number of messages waiting for their answer, except those in transactions. */
  get pending(): number {
    return this.gatherer.pending;
  }

  /** Bytes of those messages. */
  get pendingBytes(): number {
    return this.gatherer.pendingBytes;
  }

  flush(): Promise<void> {
    return this.pushes.flush();
  }

  async transaction<T>(work: (tx: KqTransaction) => Promise<T>): Promise<T> {
    if (this.closing) return closed();
    if (typeof work !== 'function')
      throw wrongValue('KQ_BAD_OPTION', 'the work of a transaction', work, 'an async function');
    if (this.inside.getStore()?.open)
      throw new KqError(
        'KQ_TRANSACTION',
        "it was started inside another transaction: push through that one's `tx`",
      );
    const { driver, clock, settings, parts } = this;
    const tx = new PusherTransaction(driver, await this.begin(), clock, settings.gatherer, parts);
    try {
      const result = await this.inside.run(tx, () => work(tx));
      await tx.commit();
      return result;
    } catch (error) {
      await tx.abort();
      throw error;
    }
  }

  /**
   * Makes the brokers end a transaction that a previous process left open under its `transactionalId`, since readers and new
   * owners of its partitions wait for it. Rejects like the begin of a transaction.
   */
  async takeOver(): Promise<void> {
    if (this.settings.transactionalId !== undefined) await (await this.begin()).abort();
  }

  /** Accepts no more pushes. Resolves once every earlier push has its answer; an open transaction is aborted. Idempotent. */
  close(): Promise<void> {
    return (this.closing ??= this.end());
  }

  private async pushLater(
    topic: string | Topic,
    value: unknown,
    { delay, at, ...options }: LaterOptions,
  ): Promise<DelayedPush> {
    if (delay !== undefined && at !== undefined)
      throw wrongValue('KQ_BAD_MESSAGE', '`at`', at, 'either `at` or `delay`, not both');
    const name = topicName(topic);
    const message = await this.pushes.prepare(topic, name, value, options);
    if (message instanceof KqError) throw message;
    const delays = this.parts.delays.need(delay === undefined ? '`at` of a push' : '`delay` of a push');
    return delays.push(name, message, delay === undefined ? { at: at! } : { delay });
  }

  private begin() {
    const { producer, transactionalId } = this.settings;
    this.transactional ??= this.driver.producer({ ...producer, transactionalId });
    return this.transactional.transaction();
  }

  private async end(): Promise<void> {
    await this.pushes.flush();
    await this.producer.close();
    await this.transactional?.close();
  }
}

function isLater(options: MessageOptions | LaterOptions | undefined): options is LaterOptions {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) return false;
  return options.delay !== undefined || options.at !== undefined;
}

function closed(): Promise<never> {
  return Promise.reject(new KqError('KQ_CLOSED', 'the pusher is closed'));
}
