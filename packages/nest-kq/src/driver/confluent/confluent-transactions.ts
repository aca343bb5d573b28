import { KqError } from '../../errors.js';
import { MemberLost, PATIENCE, type MemberIdentity, type ProducerOptions } from '../driver.js';
import type { GroupOffset, PartitionOffset } from '../message.js';
import type { Placed } from '../placing.js';
import type { Aborted, BegunTransaction, TransactionSession } from '../transactions.js';
import { called, type ConfluentContext } from './confluent-api.js';
import { isPurged, isRebalancing } from './confluent-errors.js';
import type { ConfluentIdentity } from './confluent-membership.js';
import { ConfluentSession } from './confluent-session.js';

export class ConfluentTransactions implements TransactionSession {
  private readonly session: ConfluentSession;
  private isReady = false;

  constructor(
    private readonly context: ConfluentContext,
    private readonly options: ProducerOptions,
  ) {
    this.session = new ConfluentSession(context.client, context.module, options);
  }

  async begin(deadline: number): Promise<BegunTransaction> {
    await this.session.connect();
    const { producer } = this.session;
    const { clock } = this.context.client;
    if (!this.isReady)
      await called((done) => producer.initTransactions(Math.max(1, deadline - clock.now()), done));
    this.isReady = true;
    await called((done) => producer.beginTransaction(done));
    return new ConfluentTransaction(this.context, this.session, this.options.patience ?? PATIENCE);
  }

  retire(): Promise<void> {
    return this.session.retire();
  }
}

class ConfluentTransaction implements BegunTransaction {
  constructor(
    private readonly context: ConfluentContext,
    private readonly session: ConfluentSession,
    private readonly patience: number,
  ) {}

  async send(topic: string, placed: readonly Placed[]): Promise<PartitionOffset[]> {
    const sent = await this.session.send(topic, placed);
    const failures = sent.filter((each) => each instanceof KqError);
    const first = failures.find((each) => !isPurged(each)) ?? failures[0];
    if (first) throw first;
    return sent as PartitionOffset[];
  }

  async sendOffsets(member: MemberIdentity, offsets: readonly GroupOffset[]): Promise<void> {
    const places = offsets.map((each) => ({ ...each, offset: Number(each.offset) }));
    const { producer } = this.session;
    try {
      await (member as ConfluentIdentity).use((consumer) =>
        called((done) => producer.sendOffsetsToTransaction(places, consumer, this.patience, done)),
      );
    } catch (error) {
      throw isRebalancing(error) ? new MemberLost(member.group, error) : error;
    }
  }

  async commit(): Promise<void> {
    await called((done) => this.session.producer.commitTransaction(this.patience, done));
  }

  async abort(failure: KqError | undefined): Promise<Aborted> {
    try {
      await called((done) => this.session.producer.abortTransaction(this.patience, done));
      return failure ? 'spent' : 'usable'; // after a failure the client also purges what follows
    } catch (error) {
      // The brokers abort it themselves, at the latest when the next session of this id starts.
      this.context.client.log.debug(`a transaction could not be aborted: ${String(error)}`);
      return 'spent';
    }
  }
}
