/** Messages that one transaction marks as handled. */
import { MemberLost, type LogDriver, type LogTransaction } from '../driver/driver.js';
import type { GroupOffset } from '../driver/message.js';
import { KqError, wrongValue } from '../errors.js';
import type { PartitionWork, WorkOwner } from './partition-work.js';
import type { Delivery } from './topic-work.js';

export class HandledMessages {
  private readonly offsets = new Map<PartitionWork, Set<bigint>>();

  /** @param driver The transaction's driver. */
  constructor(private readonly driver: LogDriver) {}

  /** Adds a message. Throws `KQ_CONFIG` if this handler's messages can never be committed this way. */
  add({ topic, partition, message, work }: Delivery): void {
    const what = `a message of ${topic}/${partition} in tx.handled()`;
    if (!work)
      throw new KqError('KQ_CONFIG', `${what} came back from a retry and is no longer part of a stream`);
    if (work.owner.driver !== this.driver)
      throw new KqError('KQ_CONFIG', `${what} belongs to another cluster than the transaction`);
    if (work.order !== 'partition')
      throw wrongValue(
        'KQ_CONFIG',
        `the order of the handler of ${topic}`,
        work.order,
        "'partition', for tx.handled()",
      );
    const offsets = this.offsets.get(work) ?? new Set();
    this.offsets.set(work, offsets.add(message.offset));
  }

  /** Commits the transaction with their offsets. In the meantime, nothing else commits offsets of these partitions. */
  async commit(transaction: LogTransaction): Promise<void> {
    const works = [...this.offsets.keys()];
    for (const work of works) this.check(work);
    for (const work of works) work.inTransaction = true;
    const byOwner = new Map<WorkOwner, PartitionWork[]>();
    for (const work of works) byOwner.set(work.owner, [...(byOwner.get(work.owner) ?? []), work]);
    try {
      for (const [owner, own] of byOwner) await this.send(transaction, owner, own);
      await transaction.commit();
    } catch (error) {
      if (error instanceof KqError && error.indeterminate) this.startAnew(byOwner, error);
      else this.release(byOwner);
      if (error instanceof MemberLost) for (const work of works) work.interrupted = true;
      throw error;
    }
    for (const work of works) work.committed = this.endOf(work);
    this.release(byOwner);
  }

  private async send(
    transaction: LogTransaction,
    owner: WorkOwner,
    works: readonly PartitionWork[],
  ): Promise<void> {
    await owner.settled(); // a pending commit could overwrite what the transaction commits
    const { identity } = owner.member;
    if (!identity || works.some(({ lost }) => lost)) throw new MemberLost(owner.group);
    const offsets = works.map((work): GroupOffset => ({ ...work.place, offset: this.endOf(work) }));
    await transaction.sendOffsets(identity, offsets);
  }

  private check(work: PartitionWork): void {
    const { place, lost, inTransaction, owner } = work;
    if (lost) throw new MemberLost(owner.group);
    if (!inTransaction && work.isNext(this.sorted(work))) return;
    const fact = `messages of ${place.topic}/${place.partition} in tx.handled() are not the next ones: expected all from the first unhandled one`;
    throw new KqError('KQ_TRANSACTION', fact);
  }

  /** Only the group knows what was committed, so local work is dropped, and uncommitted messages are delivered again. */
  private startAnew(byOwner: ReadonlyMap<WorkOwner, readonly PartitionWork[]>, error: KqError): void {
    for (const [owner, works] of byOwner) {
      if (works.every(({ lost }) => lost)) continue;
      for (const work of works) work.lose();
      owner.member.rejoin(error);
    }
  }

  private release(byOwner: ReadonlyMap<WorkOwner, readonly PartitionWork[]>): void {
    for (const [owner, works] of byOwner) {
      for (const work of works) work.inTransaction = false;
      owner.moved();
    }
  }

  private endOf(work: PartitionWork): bigint {
    return this.sorted(work).at(-1)! + 1n;
  }

  private sorted(work: PartitionWork): bigint[] {
    return [...this.offsets.get(work)!].sort((a, b) => (a < b ? -1 : 1));
  }
}
