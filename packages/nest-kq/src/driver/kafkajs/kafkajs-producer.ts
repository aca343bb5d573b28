import { KqError } from '../../errors.js';
import type { ProducerContext } from '../broker-driver.js';
import {
  PATIENCE,
  type LogProducer,
  type LogTransaction,
  type ProducerOptions,
  type Sent,
} from '../driver.js';
import type { OutgoingMessage } from '../message.js';
import { Transactions } from '../transactions.js';
import { typeOf } from './codecs.js';
import { meant } from './kafkajs-errors.js';
import type { KafkajsClient } from './kafkajs-client.js';
import { Session } from './kafkajs-session.js';
import { KafkajsTransactions } from './kafkajs-transactions.js';
import { groupBy, isWrong } from './requests.js';
import { Call, TopicQueue, type Answered, type Waiting } from './topic-queue.js';

const PAUSE = 200;
const REQUEST_BYTES = 1_000_000;

export class KafkajsProducer implements LogProducer {
  private readonly patience: number;
  private readonly transactions: Transactions;
  /** By topic. */
  private readonly queues = new Map<string, TopicQueue>();
  private readonly calls = new Set<Promise<unknown>>();
  /** The connected session. */
  private current: Session | undefined;
  /** Replaces `current` once connected. */
  private next: Session | undefined;
  private keyless = 0;
  private closing: Promise<void> | undefined;

  constructor(
    private readonly context: ProducerContext<KafkajsClient>,
    private readonly options: ProducerOptions,
  ) {
    typeOf(options.compression); // throws if unavailable
    this.patience = options.patience ?? PATIENCE;
    const open = () => new KafkajsTransactions(context.client, options);
    this.transactions = new Transactions(context, options, { open, meant });
  }

  async send(
    topic: string,
    messages: readonly OutgoingMessage[],
    answered?: Answered,
  ): Promise<readonly Sent[]> {
    if (this.closing) return messages.map(() => new KqError('KQ_CLOSED', 'the producer is closed'));
    if (messages.length === 0) return [];
    const call = new Call(messages, this.context.client.clock.now() + this.patience, answered);
    const queue = this.queueOf(topic);
    this.calls.add(call.done);
    queue.add(call);
    const answers = await call.done;
    this.calls.delete(call.done);
    // A process may see many topics over its life.
    if (queue.idle && this.queues.get(topic) === queue) this.queues.delete(topic);
    return answers;
  }

  transaction(): Promise<LogTransaction> {
    return this.transactions.begin();
  }

  close(): Promise<void> {
    return (this.closing ??= this.finish());
  }

  private async finish(): Promise<void> {
    await Promise.all([...this.calls, this.transactions.close()]);
    await Promise.all([this.current?.retire(), this.next?.retire()]);
  }

  private queueOf(topic: string): TopicQueue {
    const known = this.queues.get(topic);
    if (known) return known;
    const { topics, client } = this.context;
    const queue = new TopicQueue(topics, client.clock, {
      topic,
      bytes: this.options.requestBytes ?? REQUEST_BYTES,
      send: (request) => this.sendRequest(topic, request),
      partitioner: this.options.partitioner,
      keyless: () => this.keyless++,
    });
    this.queues.set(topic, queue);
    return queue;
  }

  /** Answers all of them. @returns The reason why nothing more of the same calls may follow. Never rejects. */
  private async sendRequest(topic: string, request: readonly Waiting[]): Promise<KqError | undefined> {
    const deadline = request.reduce((latest, { call }) => Math.max(latest, call.deadline), 0);
    let failure: KqError | undefined;
    try {
      const session = await this.session(topic, request, deadline);
      failure = await this.sendPart(session, topic, request, deadline);
    } catch (error) {
      failure = meant(error, `cannot store in ${topic}`);
      for (const { call, index } of request) call.answer(index, failure);
    }
    if (failure?.code === 'KQ_UNKNOWN_TOPIC') this.context.topics.forget(topic);
    else if (failure) this.context.topics.doubt(topic);
    return failure;
  }

  /** @returns The reason why nothing more may be sent; an invalid message only affects its own answer. */
  private async sendPart(
    session: Session,
    topic: string,
    part: readonly Waiting[],
    deadline: number,
  ): Promise<KqError | undefined> {
    try {
      const offsets = await session.send(topic, part, deadline);
      this.context.client.reportBack();
      const leftOut: Waiting[] = [];
      part.forEach((waiting, at) => {
        const offset = offsets[at];
        if (offset) waiting.call.answer(waiting.index, offset);
        else leftOut.push(waiting);
      });
      return leftOut.length > 0 ? await this.sendPart(session, topic, leftOut, deadline) : undefined;
    } catch (error) {
      const failure = meant(error, `cannot store in ${topic}`);
      if (isWrong(failure) && part.length > 1) return this.sendSmaller(session, topic, part, deadline);
      for (const { call, index } of part) call.answer(index, failure);
      return isWrong(failure) ? undefined : failure;
    }
  }

  /**
   * A partition whose messages were refused has stored none of them, so they are sent in halves. Other partitions of the request
   * may have stored theirs: those are resent unchanged, with the same sequence numbers, so that the broker just repeats its
   * answer.
   */
  private async sendSmaller(
    session: Session,
    topic: string,
    part: readonly Waiting[],
    deadline: number,
  ): Promise<KqError | undefined> {
    const byPartition = groupBy(part, (partition) => partition);
    const middle = part.length >> 1;
    const smaller = byPartition.length > 1 ? byPartition : [part.slice(0, middle), part.slice(middle)];
    let failure: KqError | undefined;
    for (const each of smaller) {
      if (!failure) {
        failure = await this.sendPart(session, topic, each, deadline);
        continue;
      }
      // Not resent; but another partition of the refused request may have stored its messages.
      const indeterminate = byPartition.length > 1;
      const unsent = new KqError(failure.code, 'not resent, since an earlier message failed', {
        cause: failure,
        indeterminate,
      });
      session.spoil(topic, each);
      for (const { call, index } of each) call.answer(index, unsent);
    }
    return failure;
  }

  /**
   * Resolves with a session that may store these. While a new one connects, the old one serves all partitions that haven't
   * failed.
   */
  private async session(topic: string, request: readonly Waiting[], deadline: number): Promise<Session> {
    const { client } = this.context;
    for (;;) {
      const { current } = this;
      if (current && !current.isSpoiled(topic, request)) return current;
      const next = (this.next ??= new Session(client, this.options));
      try {
        await next.connect(deadline);
        if (this.next !== next) continue;
        this.next = undefined;
        this.current = next;
        void current?.retire();
      } catch (error) {
        if (this.next === next) this.next = undefined;
        void next.retire();
        if (meant(error, '').code !== 'KQ_AWAY' || client.clock.now() >= deadline) throw error;
        await client.delay(PAUSE);
      }
    }
  }
}
