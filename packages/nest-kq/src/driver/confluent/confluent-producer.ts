import { KqError } from '../../errors.js';
import {
  PATIENCE,
  type LogProducer,
  type LogTransaction,
  type ProducerOptions,
  type Sent,
} from '../driver.js';
import type { OutgoingMessage } from '../message.js';
import { place } from '../placing.js';
import { Transactions } from '../transactions.js';
import { ConfluentSession } from './confluent-session.js';
import { ConfluentTransactions } from './confluent-transactions.js';
import type { ConfluentContext } from './confluent-api.js';
import { meant } from './confluent-errors.js';

const PAUSE = 200;

export class ConfluentProducer implements LogProducer {
  private readonly patience: number;
  private readonly transactions: Transactions;
  private current: ConfluentSession | undefined;
  /** By topic, resolves when the last call has been handed over: the next one waits for it. */
  private readonly last = new Map<string, Promise<unknown>>();
  private readonly underWay = new Set<Promise<unknown>>();
  private keyless = 0;
  private closing: Promise<void> | undefined;

  constructor(
    private readonly context: ConfluentContext,
    private readonly options: ProducerOptions,
  ) {
    this.patience = options.patience ?? PATIENCE;
    const open = () => new ConfluentTransactions(context, options);
    this.transactions = new Transactions(context, options, { open, meant });
  }

  async send(
    topic: string,
    messages: readonly OutgoingMessage[],
    answered: (index: number, sent: Sent) => void = () => {},
  ): Promise<readonly Sent[]> {
    if (this.closing) return messages.map(() => new KqError('KQ_CLOSED', 'the producer is closed'));
    if (messages.length === 0) return [];
    const sending = this.sendNow(topic, messages, answered);
    this.underWay.add(sending);
    try {
      return await sending;
    } finally {
      this.underWay.delete(sending);
    }
  }

  transaction(): Promise<LogTransaction> {
    return this.transactions.begin();
  }

  close(): Promise<void> {
    return (this.closing ??= this.finish());
  }

  private async finish(): Promise<void> {
    await Promise.all([...this.underWay, this.transactions.close()]);
    await this.current?.retire();
  }

  /** Never rejects. */
  private async sendNow(
    topic: string,
    messages: readonly OutgoingMessage[],
    answered: (index: number, sent: Sent) => void,
  ): Promise<readonly Sent[]> {
    const before = this.last.get(topic);
    const handing = (async () => {
      await before;
      return this.hand(topic, messages, answered);
    })();
    const handed = handing.catch(() => undefined); // handled below
    this.last.set(topic, handed);
    try {
      const { sending, answers } = await handing;
      for (const [index, sent] of await sending) answers.set(index, sent);
      const failed = [...answers.values()].find(
        (each) => each instanceof KqError && each.code === 'KQ_UNKNOWN_TOPIC',
      );
      if (failed) this.context.topics.forget(topic);
      return messages.map((_, index) => answers.get(index)!);
    } catch (error) {
      const failure = meant(error, `cannot store in ${topic}`);
      return messages.map(() => failure);
    } finally {
      if (this.last.get(topic) === handed) this.last.delete(topic);
    }
  }

  private async hand(
    topic: string,
    messages: readonly OutgoingMessage[],
    answered: (index: number, sent: Sent) => void,
  ) {
    const deadline = this.context.client.clock.now() + this.patience;
    const leaders = await this.context.topics.leaders(topic, this.patience, messages);
    const { placed, wrong } = place(topic, messages, leaders, this.keyless++, this.options.partitioner);
    const session = await this.session(deadline);
    const sent = session.send(topic, placed, answered);
    const sending = sent.then((all) => all.map((each, at) => [placed[at]!.index, each] as const));
    return { sending, answers: new Map<number, Sent>(wrong) };
  }

  private async session(deadline: number): Promise<ConfluentSession> {
    const { client, module } = this.context;
    for (; ; await client.delay(PAUSE)) {
      if (this.current?.failure) {
        void this.current.retire();
        this.current = undefined;
      }
      const session = (this.current ??= new ConfluentSession(client, module, this.options));
      try {
        await session.connect();
        client.reportBack();
        return session;
      } catch (error) {
        if (meant(error, '').code !== 'KQ_AWAY' || client.clock.now() > deadline) throw error;
      }
    }
  }
}
