import type { Transaction } from 'kafkajs';
import { detached } from 'nest-handlers/context';
import { KqError } from '../../errors.js';
import { MemberLost, type LogTransaction, type MemberIdentity, type ProducerOptions } from '../driver.js';
import type { GroupOffset, OutgoingMessage, PartitionOffset } from '../message.js';
import { sentBy, type KafkajsIdentity } from './group-requests.js';
import { isFenced, isOver, isPassing, meant } from './kafkajs-errors.js';
import { PATIENCE, Session } from './kafkajs-session.js';
import { place, requestsOf } from './requests.js';
import type { ProducerContext } from './topics.js';
import { writeOffsets } from './wording.js';

const PAUSE = 50;

/** The transactions of one producer, one after the other. */
export class KafkajsTransactions {
  private current: Session | undefined;
  private ongoing: KafkajsTransaction | undefined;
  private ended = Promise.resolve();
  private closed = false;
  private stop = () => {};

  constructor(
    private readonly context: ProducerContext,
    private readonly options: ProducerOptions,
  ) {}

  async begin(): Promise<LogTransaction> {
    if (this.options.transactionalId === undefined)
      throw new KqError('KQ_CONFIG', 'transactionalId is undefined: expected a name, for transactions');
    const before = this.ended;
    let end = () => {};
    this.ended = new Promise((resolve) => (end = resolve));
    await before;
    try {
      const { session, transaction } = await this.open();
      this.ongoing = new KafkajsTransaction(this.context, this.options, session, transaction, (ended) => {
        this.ongoing = undefined;
        if (ended !== 'committed') this.drop(session);
        end();
        if (ended === 'open') void this.endBefore();
      });
      return this.ongoing;
    } catch (error) {
      end();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.closed = true;
    this.stop();
    await this.ongoing?.abort();
    await this.ended;
    await this.current?.retire();
  }

  /**
   * The brokers may have a transaction of ours that has not ended: by the next one of its id they end it. Until then, readers
   * and whoever gets the partitions of the group would wait for it, a minute.
   */
  private async endBefore(): Promise<void> {
    try {
      await (await this.begin()).abort();
    } catch (error) {
      this.context.client.log.debug(`a transaction is left to the brokers: ${String(error)}`);
    }
  }

  private async open(): Promise<{ session: Session; transaction: Transaction }> {
    const { client } = this.context;
    const deadline = client.clock.now() + (this.options.patience ?? PATIENCE);
    for (; ; await client.delay(PAUSE)) {
      const session = (this.current ??= new Session(client, this.options));
      try {
        await this.reach(Math.max(0, deadline - client.clock.now()));
        await session.connect(deadline);
        return { session, transaction: await detached(() => session.producer.transaction()) };
      } catch (error) {
        this.drop(session);
        const failure = meant(error, 'cannot begin a transaction');
        if (failure.code !== 'KQ_AWAY' || client.clock.now() > deadline) throw failure;
      }
    }
  }

  /** Resolves once a broker has answered; rejects at once when it is closed. */
  private async reach(patience: number): Promise<void> {
    const stopped = new Promise<void>((resolve) => (this.stop = resolve));
    if (!this.closed) await Promise.race([this.context.cluster.reach(patience), stopped]);
    if (this.closed) throw new KqError('KQ_CLOSED', 'the producer is closed');
  }

  private drop(session: Session): void {
    if (this.current === session) this.current = undefined;
    void session.retire();
  }
}

/** `open`: for the brokers it may go on. */
type Ended = 'committed' | 'aborted' | 'open';

class KafkajsTransaction implements LogTransaction {
  /** Why nothing but `abort` is left. */
  private failure: KqError | undefined;
  private over = false;
  private aborting: Promise<void> | undefined;
  private keyless = 0;
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly context: ProducerContext,
    private readonly options: ProducerOptions,
    private readonly session: Session,
    private readonly transaction: Transaction,
    private readonly ended: (how: Ended) => void,
  ) {}

  send(topic: string, messages: readonly OutgoingMessage[]): Promise<readonly PartitionOffset[]> {
    return this.act(`cannot store in ${topic}`, async (deadline) => {
      const leaders = await this.context.topics.leaders(topic, this.options.patience ?? PATIENCE, messages);
      const { placed, wrong } = place(topic, messages, leaders, this.keyless++, this.options.partitioner);
      for (const error of wrong.values()) throw error;
      const sent: PartitionOffset[] = [];
      for (const request of requestsOf(placed))
        for (const offset of await this.session.send(topic, request, deadline, this.transaction)) {
          if (!offset) throw new Error('the leader of a partition has moved'); // so nothing but `abort` is left
          sent.push(offset);
        }
      return sent;
    });
  }

  sendOffsets(member: MemberIdentity, offsets: readonly GroupOffset[]): Promise<void> {
    const { group } = member;
    return this.act(`cannot store offsets of group ${group}`, async (deadline) => {
      const { client } = this.context;
      for (; ; await client.delay(PAUSE)) {
        try {
          const sent = sentBy(member as KafkajsIdentity, writeOffsets(offsets));
          return await this.transaction.sendOffsets({ consumerGroupId: group, ...sent });
        } catch (error) {
          if (isFenced(error)) throw new MemberLost(group, error);
          if (!isPassing(error) || client.clock.now() > deadline) throw error;
        }
      }
    });
  }

  async commit(): Promise<void> {
    await this.act('cannot commit the transaction', async () => {
      try {
        await this.transaction.commit();
      } catch (error) {
        const known = meant(error, 'cannot commit the transaction');
        if (known.code === 'KQ_TRANSACTION') throw known;
        throw new KqError('KQ_TRANSACTION', 'whether the transaction is committed is not known', {
          cause: error,
          indeterminate: true,
        });
      }
    });
    this.over = true;
    this.ended('committed');
  }

  abort(): Promise<void> {
    return this.over ? Promise.resolve() : (this.aborting ??= this.abortNow());
  }

  private async abortNow(): Promise<void> {
    this.failure ??= new KqError('KQ_TRANSACTION', 'the transaction was aborted');
    await this.last;
    let ended: Ended = 'aborted';
    try {
      await this.transaction.abort();
    } catch (error) {
      // Who has taken over its id is to keep it.
      if (!isOver(this.failure) && !isOver(error)) ended = 'open';
      this.context.client.log.debug(`a transaction could not be aborted: ${String(error)}`);
    }
    this.over = true;
    // kafkajs has lost count of the messages if one of its requests failed, as for any producer.
    this.ended(ended);
  }

  /** One act after the other; the first that fails is the last. */
  private async act<T>(what: string, run: (deadline: number) => Promise<T>): Promise<T> {
    const { clock } = this.context.client;
    const before = this.last;
    const acting = (async () => {
      await before;
      this.check();
      try {
        return await run(clock.now() + (this.options.patience ?? PATIENCE));
      } catch (error) {
        this.failure = meant(error, what);
        throw this.failure;
      }
    })();
    this.last = acting.catch(() => undefined); // told to its caller
    return acting;
  }

  private check(): void {
    if (this.over) throw new KqError('KQ_TRANSACTION', 'the transaction has ended');
    if (this.failure)
      throw new KqError('KQ_TRANSACTION', 'the transaction has failed: only abort is left', {
        cause: this.failure,
      });
  }
}
