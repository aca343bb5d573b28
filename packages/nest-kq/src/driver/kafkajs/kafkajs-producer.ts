import { KqError } from '../../errors.js';
import type { LogProducer, LogTransaction, ProducerOptions, Sent } from '../driver.js';
import type { OutgoingMessage } from '../message.js';
import { typeOf } from './codecs.js';
import { meant } from './kafkajs-errors.js';
import { PATIENCE, Session } from './kafkajs-session.js';
import { KafkajsTransactions } from './kafkajs-transactions.js';
import { groupBy, place, type Placed, requestsOf } from './requests.js';
import type { ProducerContext } from './topics.js';

const PAUSE = 200;

export class KafkajsProducer implements LogProducer {
  private readonly patience: number;
  private readonly transactions: KafkajsTransactions;
  private current: Session | undefined;
  /** By topic, the last call: the next one waits for it. */
  private readonly last = new Map<string, Promise<unknown>>();
  private keyless = 0;
  private closing: Promise<void> | undefined;

  constructor(
    private readonly context: ProducerContext,
    private readonly options: ProducerOptions,
  ) {
    typeOf(options.compression); // throws where that is not possible
    this.patience = options.patience ?? PATIENCE;
    this.transactions = new KafkajsTransactions(context, options);
  }

  async send(topic: string, messages: readonly OutgoingMessage[]): Promise<readonly Sent[]> {
    if (this.closing) return messages.map(() => new KqError('KQ_CLOSED', 'the producer is closed'));
    if (messages.length === 0) return [];
    const deadline = this.context.client.clock.now() + this.patience;
    const before = this.last.get(topic);
    const sending = (async () => {
      await before;
      return this.sendNow(topic, messages, deadline);
    })();
    this.last.set(topic, sending);
    try {
      return await sending;
    } finally {
      if (this.last.get(topic) === sending) this.last.delete(topic);
    }
  }

  transaction(): Promise<LogTransaction> {
    return this.transactions.begin();
  }

  close(): Promise<void> {
    return (this.closing ??= this.finish());
  }

  private async finish(): Promise<void> {
    await Promise.all([...this.last.values(), this.transactions.close()]);
    await this.current?.retire();
  }

  /** Never rejects. */
  private async sendNow(
    topic: string,
    messages: readonly OutgoingMessage[],
    deadline: number,
  ): Promise<readonly Sent[]> {
    const answers = new Map<number, Sent>();
    /** Of what was not sent at all. */
    let unsent = lost(topic);
    try {
      const leaders = await this.context.topics.leaders(topic, this.left(deadline), messages);
      const { placed, wrong } = place(topic, messages, leaders.length, this.keyless++);
      for (const [index, error] of wrong) answers.set(index, error);
      for (const request of requestsOf(placed)) {
        const failure = await this.sendRequest(topic, request, leaders, deadline, answers);
        if (!failure) continue;
        unsent = new KqError(failure.code, 'it was not sent, as one before it failed', { cause: failure });
        break;
      }
    } catch (error) {
      unsent = meant(error, `cannot store in ${topic}`);
    }
    return messages.map((_, index) => answers.get(index) ?? unsent);
  }

  /** @returns Why nothing more may be sent. */
  private async sendRequest(
    topic: string,
    request: readonly Placed[],
    leaders: readonly number[],
    deadline: number,
    answers: Map<number, Sent>,
  ): Promise<KqError | undefined> {
    const session = await this.session(deadline);
    // A request to each leader, so that no answer of one is lost by the failure of another.
    const parts = groupBy(request, (partition) => leaders[partition]);
    const failures = await Promise.all(
      parts.map((part) => this.sendPart(session, topic, part, deadline, answers)),
    );
    const failure = failures.find((each) => each !== undefined);
    if (failure) {
      // kafkajs counts the messages of a request as not sent when it fails. The brokers may have some of them, and would
      // take the next ones, with the same numbers, for repeated ones: an answer, and nothing stored.
      this.current = undefined;
      void session.retire();
      this.context.topics.forget(topic);
    }
    return failure;
  }

  /** @returns Why nothing more may be sent; that a message is wrong is only its own answer. */
  private async sendPart(
    session: Session,
    topic: string,
    part: readonly Placed[],
    deadline: number,
    answers: Map<number, Sent>,
  ): Promise<KqError | undefined> {
    try {
      const offsets = await session.send(topic, part, deadline);
      this.context.client.tellBack();
      part.forEach(({ index }, at) => answers.set(index, offsets[at] ?? lost(topic)));
      return undefined;
    } catch (error) {
      const failure = meant(error, `cannot store in ${topic}`);
      const wrong = failure.code === 'KQ_TOO_LARGE' || failure.code === 'KQ_BAD_MESSAGE';
      if (!wrong || part.length === 1) {
        for (const { index } of part) answers.set(index, failure);
        return wrong ? undefined : failure;
      }
      return this.sendSmaller(session, topic, part, deadline, answers);
    }
  }

  /**
   * A partition whose messages were refused has stored none of them, so they are sent in halves. Other partitions of the
   * request may have stored theirs: they are sent again exactly as they were, with the numbers that they had, so that the
   * broker only repeats its answer.
   */
  private async sendSmaller(
    session: Session,
    topic: string,
    part: readonly Placed[],
    deadline: number,
    answers: Map<number, Sent>,
  ): Promise<KqError | undefined> {
    const byPartition = groupBy(part, (partition) => partition);
    const middle = part.length >> 1;
    const smaller = byPartition.length > 1 ? byPartition : [part.slice(0, middle), part.slice(middle)];
    for (const each of smaller) {
      const failure = await this.sendPart(session, topic, each, deadline, answers);
      if (failure) return failure;
    }
    return undefined;
  }

  private async session(deadline: number): Promise<Session> {
    const { client } = this.context;
    for (; ; await client.delay(PAUSE)) {
      const session = (this.current ??= new Session(client, this.options));
      try {
        await session.connect(deadline);
        if (this.current === session) return session;
      } catch (error) {
        if (this.current === session) this.current = undefined;
        void session.retire();
        if (meant(error, '').code !== 'KQ_AWAY' || this.left(deadline) === 0) throw error;
      }
    }
  }

  private left(deadline: number): number {
    return Math.max(0, deadline - this.context.client.clock.now());
  }
}

function lost(topic: string): KqError {
  return new KqError('KQ_AWAY', `no answer for a message of ${topic}`, { indeterminate: true });
}
