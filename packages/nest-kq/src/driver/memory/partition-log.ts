/** One partition of the log in this process. */
import { headersOf, pairsOf, type LogMessage, type OutgoingMessage } from '../message.js';

/** The identity of a transaction. */
export type TransactionMark = object;

interface Entry {
  readonly message: LogMessage;
  readonly bytes: number;
  /** Its position among all entries of the topic. */
  readonly order: number;
  readonly transaction: TransactionMark | undefined;
}

/** Approximate bytes of a message in addition to its key, value and headers. */
const OVERHEAD_BYTES = 100;

export class PartitionLog {
  /** Offset of the next message. */
  end = 0n;
  private entries: Entry[] = [];
  /** Entries before it were dropped. */
  private head = 0;
  /** First offset of each open transaction. */
  private readonly open = new Map<TransactionMark, bigint>();

  constructor(readonly partition: number) {}

  /** @returns Its size in bytes. */
  append(
    outgoing: OutgoingMessage,
    at: { readonly time: number; readonly order: number },
    transaction?: TransactionMark,
  ): number {
    if (transaction && !this.open.has(transaction)) this.open.set(transaction, this.end);
    const message = copyOf({
      offset: this.end++,
      timestamp: outgoing.timestamp ?? at.time,
      key: outgoing.key,
      value: outgoing.value,
      headers: outgoing.headers ?? {},
    });
    const bytes = sizeOf(outgoing);
    this.entries.push({ message, bytes, order: at.order, transaction });
    return bytes;
  }

  /** Ends a transaction; as in Kafka, that takes an offset. @returns The number of bytes freed. */
  endTransaction(transaction: TransactionMark, committed: boolean): number {
    if (!this.open.delete(transaction)) return 0;
    this.end++;
    if (committed) return 0;
    let freed = 0;
    this.entries = this.entries.slice(this.head).filter((entry) => {
      if (entry.transaction === transaction) freed += entry.bytes;
      return entry.transaction !== transaction;
    });
    this.head = 0;
    return freed;
  }

  /** Offset of the first stored message; the end if there is none. */
  get first(): bigint {
    return this.entries[this.head]?.message.offset ?? this.end;
  }

  /** Position of the first entry among all of the topic; Infinity if there is none. */
  get firstOrder(): number {
    return this.entries[this.head]?.order ?? Infinity;
  }

  get count(): number {
    return this.entries.length - this.head;
  }

  /** End of the readable part: the rest waits for the end of a transaction. */
  get readable(): bigint {
    let least = this.end;
    for (const offset of this.open.values()) if (offset < least) least = offset;
    return least;
  }

  /** Drops the first message. @returns The number of bytes freed. */
  dropFirst(): number {
    const bytes = this.entries[this.head]?.bytes ?? 0;
    this.head++;
    if (this.head > 1_000 && this.head * 2 > this.entries.length) {
      this.entries = this.entries.slice(this.head);
      this.head = 0;
    }
    return bytes;
  }

  /** Reads at least one message if there is one, and otherwise at most `maxBytes`. `next` is after them and their gaps. */
  read(from: bigint, maxBytes: number): { messages: LogMessage[]; next: bigint } {
    const { readable } = this;
    const messages: LogMessage[] = [];
    let bytes = 0;
    for (let index = this.indexOf((message) => message.offset >= from); ; index++) {
      const entry = this.entries[index];
      if (!entry || entry.message.offset >= readable) return { messages, next: readable };
      bytes += entry.bytes;
      if (messages.length > 0 && bytes > maxBytes) return { messages, next: entry.message.offset };
      messages.push(copyOf(entry.message));
    }
  }

  /** Returns the readable messages, with their positions among all of the topic. */
  all(): { readonly message: LogMessage; readonly order: number }[] {
    const { readable } = this;
    return this.entries
      .slice(this.head)
      .filter(({ message }) => message.offset < readable)
      .map(({ message, order }) => ({ message: copyOf(message), order }));
  }

  /** Returns the offset of the first message at this time or later; the end if there is none. */
  offsetAt(time: number): bigint {
    // Timestamps come from producers, so they needn't increase.
    for (let index = this.head; index < this.entries.length; index++) {
      const entry = this.entries[index];
      if (entry && entry.message.timestamp >= time) return entry.message.offset;
    }
    return this.end;
  }

  /** Returns the first entry for which it holds; it holds for all later ones, too. */
  private indexOf(holds: (message: LogMessage) => boolean): number {
    let [low, high] = [this.head, this.entries.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const entry = this.entries[middle];
      if (entry && holds(entry.message)) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

/** Returns the estimated size of a message in bytes. */
export function sizeOf({ key, value, headers = {} }: OutgoingMessage): number {
  let bytes = OVERHEAD_BYTES + (key?.length ?? 0) + (value?.length ?? 0);
  for (const [name, value] of pairsOf(headers)) bytes += name.length + value.length;
  return bytes;
}

/** Copies a message, so that writing into its buffers affects nobody else. */
function copyOf(message: LogMessage): LogMessage {
  const { key, value, headers } = message;
  return {
    ...message,
    key: key && Buffer.from(key),
    value: value && Buffer.from(value),
    headers: headersOf(pairsOf(headers).map(([name, bytes]) => [name, Buffer.from(bytes)])),
  };
}
