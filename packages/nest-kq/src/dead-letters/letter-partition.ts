import type { LogAdmin, PartitionEnds } from '../driver/driver.js';
import type { LogMessage } from '../driver/message.js';
import type { KqDeadLetterSummary } from './kq-dead-letters.js';
import { isLetter, resolvedBy, summaryOf } from './letter.js';
import { OffsetSet } from './offset-set.js';

/** Bytes of one read. */
const READ_BYTES = 1_048_576;
/** Max new messages read to extend the known range; beyond that it starts over. */
const MAX_NEW = 10_000n;

/** The amount a call may still read. */
export interface Budget {
  messages: number;
  bytes: number;
}

/**
 * One partition of a dead letter topic. Read backwards from its end, because the records that resolve letters come after them:
 * within the known range, each letter is known to be resolved or not. That bit is all that is kept of a message.
 */
export class LetterPartition {
  /** Offset of the first stored message. */
  first = 0n;
  /** Offset after the last message. */
  end = 0n;
  private from = 0n;
  private to = 0n;
  private readonly resolved = new OffsetSet();
  /** The last message read, used to detect a topic that was deleted and recreated. */
  private last: Pick<LogMessage, 'offset' | 'timestamp'> | undefined;

  constructor(
    private readonly admin: LogAdmin,
    private readonly topic: string,
    readonly partition: number,
  ) {}

  /** Call first, with the ends the brokers report now. */
  async refresh({ first, end }: Pick<PartitionEnds, 'first' | 'end'>): Promise<void> {
    this.first = first;
    this.end = end;
    this.resolved.dropBelow(first);
    if (end < this.to || !(await this.isSame())) {
      this.resolved.clear();
      this.last = undefined;
      this.from = this.to = end;
    } else if (end - this.to > MAX_NEW || this.from === this.to) this.from = this.to = end;
    else await this.knowTo(end);
  }

  /** Reads what has arrived since, up to this offset. */
  async knowTo(end: bigint): Promise<void> {
    if (end <= this.to) return;
    for await (const messages of this.read(this.to, end)) this.absorb(messages);
    this.to = end;
    if (end > this.end) this.end = end;
  }

  /** Whether the letter is unresolved. Only valid for known offsets: those `below` has covered. */
  isOpen(offset: bigint): boolean {
    return !this.resolved.has(offset);
  }

  /**
   * Returns letters below `position`, from at most `count` offsets, newest first, and the position to continue at. Everything
   * from `position` to the end must be known: from earlier calls, or from this one, which then returns no letters.
   */
  async below(
    position: bigint,
    count: number,
    budget: Budget,
  ): Promise<{ letters: KqDeadLetterSummary[]; position: bigint }> {
    const isKnown = position >= this.from;
    const high = isKnown ? position : this.from;
    const low = max(this.first, high - BigInt(count));
    const letters: KqDeadLetterSummary[] = [];
    for await (const messages of this.read(low, high)) {
      budget.messages -= messages.length;
      budget.bytes -= messages.reduce((sum, { value }) => sum + (value?.length ?? 0), 0);
      this.absorb(messages);
      for (const message of messages)
        if (isKnown && isLetter(message)) letters.push(summaryOf(this.partition, message));
    }
    if (low < this.from) this.from = low;
    const open = letters.filter(({ offset }) => this.isOpen(BigInt(offset)));
    return { letters: open.toReversed(), position: isKnown ? low : position };
  }

  /** Yields messages in order, in chunks. */
  async *read(low: bigint, high: bigint): AsyncGenerator<readonly LogMessage[]> {
    for (let next = low; next < high;) {
      const read = await this.admin.readFrom(this.topic, this.partition, next, READ_BYTES);
      const messages = read.messages.filter(({ offset }) => offset < high);
      if (messages.length > 0) yield messages;
      if (read.next <= next) return;
      next = read.next;
    }
  }

  private absorb(messages: readonly LogMessage[]): void {
    for (const message of messages) for (const offset of resolvedBy(message)) this.resolved.add(offset);
    const newest = messages.at(-1);
    if (newest && newest.offset >= (this.last?.offset ?? -1n))
      this.last = { offset: newest.offset, timestamp: newest.timestamp };
  }

  private async isSame(): Promise<boolean> {
    const { last } = this;
    if (!last || last.offset < this.first) return last === undefined;
    const { messages } = await this.admin.readFrom(this.topic, this.partition, last.offset, 1);
    const found = messages.find(({ offset }) => offset === last.offset);
    return found?.timestamp === last.timestamp;
  }
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
