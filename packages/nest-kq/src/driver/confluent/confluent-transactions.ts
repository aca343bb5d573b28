import { KqError } from '../../errors.js';
import { MemberLost, type LogTransaction, type MemberIdentity, type ProducerOptions } from '../driver.js';
import type { GroupOffset, OutgoingMessage, PartitionOffset } from '../message.js';
import { PATIENCE } from '../kafkajs/kafkajs-session.js';
import { place } from '../kafkajs/requests.js';
import { called } from './confluent-api.js';
import type { ConfluentContext } from './confluent-api.js';
import { isPurged, isRebalancing, meant } from './confluent-errors.js';
import type { ConfluentIdentity } from './confluent-membership.js';
import { ConfluentSession } from './confluent-session.js';

const PAUSE = 50;

/** The transactions of one producer, one after the other. */
export class ConfluentTransactions {
  private current: ConfluentSession | undefined;
  private ongoing: ConfluentTransaction | undefined;
  private ended = Promise.resolve();
  private closed = false;
  private stop = () => {};

  constructor(
    readonly context: ConfluentContext,
    readonly options: ProducerOptions,
  ) {}

  get patience(): number {
    return this.options.patience ?? PATIENCE;
  }

  async begin(): Promise<LogTransaction> {
    if (this.options.transactionalId === undefined)
      throw new KqError('KQ_CONFIG', 'transactionalId is undefined: expected a name, for transactions');
    const before = this.ended;
    let end = () => {};
    this.ended = new Promise((resolve) => (end = resolve));
    await before;
    try {
      const session = await this.open();
      this.ongoing = new ConfluentTransaction(this, session, (usable) => {
        this.ongoing = undefined;
        if (!usable) this.drop(session);
        end();
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

  private async open(): Promise<ConfluentSession> {
    const { client, module } = this.context;
    const deadline = client.clock.now() + this.patience;
    const left = () => Math.max(1, deadline - client.clock.now());
    for (; ; await client.delay(PAUSE)) {
      const fresh = this.current === undefined;
      const session = (this.current ??= new ConfluentSession(client, module, this.options));
      try {
        await this.reach(left());
        await session.connect();
        if (fresh) await called((done) => session.producer.initTransactions(left(), done));
        await called((done) => session.producer.beginTransaction(done));
        client.tellBack();
        return session;
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

  private drop(session: ConfluentSession): void {
    if (this.current === session) this.current = undefined;
    void session.retire();
  }
}

class ConfluentTransaction implements LogTransaction {
  /** Why nothing but `abort` is left. */
  private failure: KqError | undefined;
  /** One of its acts has. */
  private failed = false;
  private over = false;
  private aborting: Promise<void> | undefined;
  private keyless = 0;
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly owner: ConfluentTransactions,
    private readonly session: ConfluentSession,
    private readonly ended: (usable: boolean) => void,
  ) {}

  send(topic: string, messages: readonly OutgoingMessage[]): Promise<readonly PartitionOffset[]> {
    return this.act(`cannot store in ${topic}`, async () => {
      const { topics } = this.owner.context;
      const leaders = await topics.leaders(topic, this.owner.patience, messages);
      const { placed, wrong } = place(
        topic,
        messages,
        leaders,
        this.keyless++,
        this.owner.options.partitioner,
      );
      for (const error of wrong.values()) throw error;
      const sent = await this.session.send(topic, placed);
      const failures = sent.filter((each) => each instanceof KqError);
      const first = failures.find((each) => !isPurged(each)) ?? failures[0];
      if (first) throw first;
      return sent as PartitionOffset[];
    });
  }

  sendOffsets(member: MemberIdentity, offsets: readonly GroupOffset[]): Promise<void> {
    const { group } = member;
    return this.act(`cannot store offsets of group ${group}`, async () => {
      const places = offsets.map((each) => ({ ...each, offset: Number(each.offset) }));
      const { patience } = this.owner;
      try {
        await (member as ConfluentIdentity).use((consumer) =>
          called((done) => this.session.producer.sendOffsetsToTransaction(places, consumer, patience, done)),
        );
      } catch (error) {
        throw isRebalancing(error) ? new MemberLost(group, error) : error;
      }
    });
  }

  async commit(): Promise<void> {
    await this.act('cannot commit the transaction', async () => {
      try {
        await called((done) => this.session.producer.commitTransaction(this.owner.patience, done));
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
    this.ended(true);
  }

  abort(): Promise<void> {
    return this.over ? Promise.resolve() : (this.aborting ??= this.abortNow());
  }

  private async abortNow(): Promise<void> {
    this.failure ??= new KqError('KQ_TRANSACTION', 'the transaction was aborted');
    await this.last;
    let usable = !this.failed; // after a failure the client purges what comes next, too
    try {
      await called((done) => this.session.producer.abortTransaction(this.owner.patience, done));
    } catch (error) {
      // The brokers abort it themselves, at the latest when the next session of this id begins.
      this.owner.context.client.log.debug(`a transaction could not be aborted: ${String(error)}`);
      usable = false;
    }
    this.over = true;
    this.ended(usable);
  }

  /** One act after the other; the first that fails is the last. */
  private async act<T>(what: string, run: () => Promise<T>): Promise<T> {
    const before = this.last;
    const acting = (async () => {
      await before;
      this.check();
      try {
        return await run();
      } catch (error) {
        this.failed = true;
        this.failure = meant(error, what, true);
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
