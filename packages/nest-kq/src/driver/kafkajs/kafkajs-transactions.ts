import type { Transaction } from 'kafkajs';
import { detached } from 'nest-handlers/context';
import type { KqError } from '../../errors.js';
import { MemberLost, type MemberIdentity, type ProducerOptions } from '../driver.js';
import type { GroupOffset, PartitionOffset } from '../message.js';
import type { Placed } from '../placing.js';
import type { Aborted, BegunTransaction, TransactionSession } from '../transactions.js';
import { sentBy, type KafkajsIdentity } from './group-requests.js';
import type { KafkajsClient } from './kafkajs-client.js';
import { isFenced, isOver, isPassing } from './kafkajs-errors.js';
import { Session } from './kafkajs-session.js';
import { requestsOf } from './requests.js';
import { writeOffsets } from './wording.js';

const PAUSE = 50;

export class KafkajsTransactions implements TransactionSession {
  private readonly session: Session;

  constructor(
    private readonly client: KafkajsClient,
    options: ProducerOptions,
  ) {
    this.session = new Session(client, options);
  }

  async begin(deadline: number): Promise<BegunTransaction> {
    await this.session.connect(deadline);
    const transaction = await detached(() => this.session.producer.transaction());
    return new KafkajsTransaction(this.client, this.session, transaction);
  }

  retire(): Promise<void> {
    return this.session.retire();
  }
}

class KafkajsTransaction implements BegunTransaction {
  constructor(
    private readonly client: KafkajsClient,
    private readonly session: Session,
    private readonly transaction: Transaction,
  ) {}

  async send(topic: string, placed: readonly Placed[], deadline: number): Promise<PartitionOffset[]> {
    const sent: PartitionOffset[] = [];
    for (const request of requestsOf(placed))
      for (const offset of await this.session.send(topic, request, deadline, this.transaction)) {
        if (!offset) throw new Error('the leader of a partition has moved'); // only `abort` is possible now
        sent.push(offset);
      }
    return sent;
  }

  async sendOffsets(
    member: MemberIdentity,
    offsets: readonly GroupOffset[],
    deadline: number,
  ): Promise<void> {
    const { group } = member;
    for (; ; await this.client.delay(PAUSE)) {
      try {
        const sent = sentBy(member as KafkajsIdentity, writeOffsets(offsets));
        return await this.transaction.sendOffsets({ consumerGroupId: group, ...sent });
      } catch (error) {
        if (isFenced(error)) throw new MemberLost(group, error);
        if (!isPassing(error) || this.client.clock.now() > deadline) throw error;
      }
    }
  }

  commit(): Promise<void> {
    return this.transaction.commit();
  }

  async abort(failure: KqError | undefined): Promise<Aborted> {
    try {
      await this.transaction.abort();
    } catch (error) {
      this.client.log.debug(`a transaction could not be aborted: ${String(error)}`);
      // A new owner of the id keeps it.
      if (!isOver(failure) && !isOver(error)) return 'open';
    }
    return 'spent'; // after a failed request kafkajs has lost count of the messages, as for any producer
  }
}
