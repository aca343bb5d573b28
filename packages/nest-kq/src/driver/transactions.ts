/** The transactions of one producer, one after the other, with any client. */
import { KqError } from '../errors.js';
import type { ProducerContext } from './broker-driver.js';
import { PATIENCE, type LogTransaction, type MemberIdentity, type ProducerOptions } from './driver.js';
import type { GroupOffset, OutgoingMessage, PartitionOffset } from './message.js';
import { place, type Placed } from './placing.js';

const PAUSE = 50;

/** A client's producer with a `transactionalId`. Its calls reject with the client's errors. */
export interface TransactionSession {
  begin(deadline: number): Promise<BegunTransaction>;
  /** Never rejects. */
  retire(): Promise<void>;
}

/** A client's transaction. Its calls reject with the client's errors. */
export interface BegunTransaction {
  send(topic: string, placed: readonly Placed[], deadline: number): Promise<readonly PartitionOffset[]>;
  /** Also rejects with `MemberLost`. */
  sendOffsets(member: MemberIdentity, offsets: readonly GroupOffset[], deadline: number): Promise<void>;
  commit(): Promise<void>;
  /** Never rejects. @param failure The error of the step that failed. @returns The fate of its session. */
  abort(failure: KqError | undefined): Promise<Aborted>;
}

/** `spent`: its session can't begin another. `open`: nor can it, and for the brokers the transaction may still be open. */
export type Aborted = 'usable' | 'spent' | 'open';

/** A driver's part: opens sessions and translates its client's errors. */
export interface TransactionParts {
  readonly open: () => TransactionSession;
  readonly meant: (error: unknown, what: string) => KqError;
}

export class Transactions {
  private current: TransactionSession | undefined;
  private ongoing: Transaction | undefined;
  private ended = Promise.resolve();
  private closed = false;
  private stop = () => {};

  constructor(
    readonly context: ProducerContext,
    readonly options: ProducerOptions,
    readonly parts: TransactionParts,
  ) {}

  get patience(): number {
    return this.options.patience ?? PATIENCE;
  }

  async begin(): Promise<LogTransaction> {
    if (this.options.transactionalId === undefined)
      throw new KqError('KQ_CONFIG', 'transactionalId is undefined: transactions need a name');
    const before = this.ended;
    let end = () => {};
    this.ended = new Promise((resolve) => (end = resolve));
    await before;
    try {
      const { session, begun } = await this.open();
      this.ongoing = new Transaction(this, begun, (how) => {
        this.ongoing = undefined;
        if (how !== 'usable') this.drop(session);
        end();
        if (how === 'open') void this.endBefore();
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
   * Ends a transaction of ours that may still be open, by beginning the next one of its id. Otherwise readers and new owners of
   * the group's partitions would wait a minute for it.
   */
  private async endBefore(): Promise<void> {
    try {
      await (await this.begin()).abort();
    } catch (error) {
      this.context.client.log.debug(`a transaction is left to the brokers: ${String(error)}`);
    }
  }

  private async open(): Promise<{ session: TransactionSession; begun: BegunTransaction }> {
    const { client } = this.context;
    const deadline = client.clock.now() + this.patience;
    for (; ; await client.delay(PAUSE)) {
      const session = (this.current ??= this.parts.open());
      try {
        await this.reach(Math.max(0, deadline - client.clock.now()));
        const begun = await session.begin(deadline);
        client.reportBack();
        return { session, begun };
      } catch (error) {
        this.drop(session);
        const failure = this.parts.meant(error, 'cannot begin a transaction');
        if (failure.code !== 'KQ_AWAY' || client.clock.now() > deadline) throw failure;
      }
    }
  }

  /** Resolves once a broker has answered; rejects immediately when closed. */
  private async reach(patience: number): Promise<void> {
    const stopped = new Promise<void>((resolve) => (this.stop = resolve));
    if (!this.closed) await Promise.race([this.context.cluster.reach(patience), stopped]);
    if (this.closed) throw new KqError('KQ_CLOSED', 'the producer is closed');
  }

  private drop(session: TransactionSession): void {
    if (this.current === session) this.current = undefined;
    void session.retire();
  }
}

class Transaction implements LogTransaction {
  /** The error after which only `abort` is allowed. */
  private failure: KqError | undefined;
  private over = false;
  private aborting: Promise<void> | undefined;
  private keyless = 0;
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly owner: Transactions,
    private readonly begun: BegunTransaction,
    private readonly ended: (how: Aborted) => void,
  ) {}

  send(topic: string, messages: readonly OutgoingMessage[]): Promise<readonly PartitionOffset[]> {
    const { context, options, patience } = this.owner;
    return this.act(`cannot store in ${topic}`, async (deadline) => {
      const leaders = await context.topics.leaders(topic, patience, messages);
      const { placed, wrong } = place(topic, messages, leaders, this.keyless++, options.partitioner);
      for (const error of wrong.values()) throw error;
      return this.begun.send(topic, placed, deadline);
    });
  }

  sendOffsets(member: MemberIdentity, offsets: readonly GroupOffset[]): Promise<void> {
    return this.act(`cannot store offsets of group ${member.group}`, (deadline) =>
      this.begun.sendOffsets(member, offsets, deadline),
    );
  }

  async commit(): Promise<void> {
    const what = 'cannot commit the transaction';
    await this.act(what, async () => {
      try {
        await this.begun.commit();
      } catch (error) {
        const known = this.owner.parts.meant(error, what);
        if (known.code === 'KQ_TRANSACTION') throw known;
        throw new KqError('KQ_TRANSACTION', 'it is unknown whether the transaction was committed', {
          cause: error,
          indeterminate: true,
        });
      }
    });
    this.over = true;
    this.ended('usable');
  }

  abort(): Promise<void> {
    return this.over ? Promise.resolve() : (this.aborting ??= this.abortNow());
  }

  private async abortNow(): Promise<void> {
    const aborted = new KqError('KQ_TRANSACTION', 'the transaction was aborted');
    this.failure ??= aborted;
    await this.last;
    const how = await this.begun.abort(this.failure === aborted ? undefined : this.failure);
    this.over = true;
    this.ended(how);
  }

  /** Runs one step after the other; the first that fails is the last. */
  private async act<T>(what: string, run: (deadline: number) => Promise<T>): Promise<T> {
    const before = this.last;
    const { context, patience, parts } = this.owner;
    const acting = (async () => {
      await before;
      this.check();
      try {
        return await run(context.client.clock.now() + patience);
      } catch (error) {
        this.failure = parts.meant(error, what);
        throw this.failure;
      }
    })();
    this.last = acting.catch(() => undefined); // its caller gets the error
    return acting;
  }

  private check(): void {
    if (this.over) throw new KqError('KQ_TRANSACTION', 'the transaction has ended');
    if (this.failure)
      throw new KqError('KQ_TRANSACTION', 'the transaction has failed: it can only be aborted', {
        cause: this.failure,
      });
  }
}
