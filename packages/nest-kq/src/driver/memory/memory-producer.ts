import { KqError } from '../../errors.js';
import {
  MemberLost,
  type LogProducer,
  type LogTransaction,
  type MemberIdentity,
  type ProducerOptions,
  type Sent,
} from '../driver.js';
import type { Partitioner } from '../partitioning.js';
import type { GroupOffset, OutgoingMessage, PartitionOffset } from '../message.js';
import type { MemoryGroups } from './memory-groups.js';
import type { MemoryLog } from './memory-log.js';
import type { MemoryIdentity } from './memory-member.js';

/** Shared by the producers of one process. */
export interface MemoryStore {
  readonly log: MemoryLog;
  readonly groups: MemoryGroups;
  /** Current producer of each transactional id. */
  readonly owners: Map<string, MemoryProducer>;
}

export class MemoryProducer implements LogProducer {
  private keyless = 0;
  private closed = false;
  private ongoing: MemoryTransaction | undefined;
  private ended = Promise.resolve();

  constructor(
    private readonly store: MemoryStore,
    private readonly options: ProducerOptions,
  ) {}

  async send(topic: string, messages: readonly OutgoingMessage[]): Promise<readonly Sent[]> {
    if (this.closed) return messages.map(() => new KqError('KQ_CLOSED', 'the producer is closed'));
    const { log } = this.store;
    const keyless = this.keyless++;
    try {
      return messages.map((message) => log.append(topic, message, keyless, this.options.partitioner));
    } catch (error) {
      if (error instanceof KqError) return messages.map(() => error);
      throw error;
    } finally {
      log.notify(topic);
    }
  }

  async transaction(): Promise<LogTransaction> {
    const { transactionalId } = this.options;
    if (transactionalId === undefined)
      throw new KqError('KQ_CONFIG', 'transactionalId is undefined: transactions need a name');
    const before = this.ended;
    let end = () => {};
    this.ended = new Promise((resolve) => (end = resolve));
    await before;
    try {
      this.take(transactionalId);
    } catch (error) {
      end();
      throw error;
    }
    this.ongoing = new MemoryTransaction(this.store, this.keyless++, this.options.partitioner, () => {
      this.ongoing = undefined;
      end();
    });
    return this.ongoing;
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.ongoing?.abort();
  }

  /** Takes over an id and ends the open transaction of its previous producer. */
  private take(id: string): void {
    if (this.closed) throw new KqError('KQ_CLOSED', 'the producer is closed');
    const { owners } = this.store;
    const before = owners.get(id);
    if (before === this) return;
    owners.set(id, this);
    before?.ongoing?.fence(id);
  }
}

class MemoryTransaction implements LogTransaction {
  private readonly sent: [MemoryIdentity, readonly GroupOffset[]][] = [];
  /** The error after which only `abort` is allowed. */
  private failure: KqError | undefined;
  private over = false;

  constructor(
    private readonly store: MemoryStore,
    private readonly keyless: number,
    private readonly partitioner: Partitioner | undefined,
    private readonly ended: () => void,
  ) {}

  async send(topic: string, messages: readonly OutgoingMessage[]): Promise<readonly PartitionOffset[]> {
    this.check();
    try {
      return messages.map((message) => {
        const sent = this.store.log.append(topic, message, this.keyless, this.partitioner, this);
        if (sent instanceof KqError) throw sent;
        return sent;
      });
    } catch (error) {
      if (error instanceof KqError) this.failure = error;
      throw error;
    }
  }

  async sendOffsets(member: MemberIdentity, offsets: readonly GroupOffset[]): Promise<void> {
    this.check();
    this.sent.push([member as MemoryIdentity, offsets]);
    this.checkMembers();
  }

  async commit(): Promise<void> {
    this.check();
    this.checkMembers();
    this.end(true);
    for (const [member, offsets] of this.sent) member.offsets.store(offsets);
  }

  async abort(): Promise<void> {
    if (!this.over) this.end(false);
  }

  /** Another producer has taken over the id. */
  fence(id: string): void {
    this.end(false);
    this.failure = new KqError('KQ_TRANSACTION', `another producer has taken over ${JSON.stringify(id)}`);
  }

  private end(committed: boolean): void {
    this.over = true;
    this.store.log.endTransaction(this, committed);
    this.ended();
  }

  private checkMembers(): void {
    const lost = this.sent.find(([member]) => !member.stays());
    if (!lost) return;
    this.failure = new MemberLost(lost[0].group);
    throw this.failure;
  }

  private check(): void {
    if (this.failure)
      throw new KqError('KQ_TRANSACTION', 'the transaction has failed: it can only be aborted', {
        cause: this.failure,
      });
    if (this.over) throw new KqError('KQ_TRANSACTION', 'the transaction has ended');
  }
}
