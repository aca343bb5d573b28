/** Batches pushes without a timer: all pushes of one turn go in one call. */
import type { LogProducer, Sent } from '../driver/driver.js';
import type { OutgoingMessage, PartitionOffset } from '../driver/message.js';
import { KqError } from '../errors.js';
import type { Clock } from 'nest-handlers/time';

/** Limits of what may wait and of one request. */
export interface GathererOptions {
  /** Max messages waiting for an answer, over all topics. */
  readonly messages: number;
  /** Max bytes of their keys and values. */
  readonly bytes: number;
  /** Max bytes of one request; a larger message goes alone. */
  readonly requestBytes: number;
}

/** Called with the place of a stored message, or with the error. */
export type Done = (this: void, sent: Sent) => void;

interface Pending {
  readonly message: OutgoingMessage;
  readonly bytes: number;
  readonly done: Done;
  answered: boolean;
}

/** Messages of a topic are sent in the order they were pushed. Topics don't block each other. */
export class Gatherer {
  /** Messages not handed to the producer yet, by topic. */
  private readonly queues = new Map<string, Pending[]>();
  private messages = 0;
  private bytes = 0;
  /** Callers waiting for the next answers. */
  private waiting: (() => void)[] = [];
  private waking = false;
  /** Pending calls of the producer. */
  private readonly sending = new Set<Promise<void>>();

  constructor(
    private readonly producer: Pick<LogProducer, 'send'>,
    private readonly clock: Clock,
    private readonly options: GathererOptions,
  ) {}

  /**
   * Rejects with the producer's error for this message, or with `KQ_FULL` if too much is waiting already (then nothing of the
   * message is stored).
   */
  push(topic: string, message: OutgoingMessage): Promise<PartitionOffset> {
    return new Promise((resolve, reject) => {
      this.add(topic, message, (sent) => (sent instanceof KqError ? reject(sent) : resolve(sent)));
    });
  }

  /** Like `push`, with a callback instead of a promise. */
  add(topic: string, message: OutgoingMessage, done: Done): void {
    const bytes = sizeOf(message);
    const refusal = this.fullBy(bytes);
    if (refusal) return done(refusal);
    this.messages++;
    this.bytes += bytes;
    const pending = { message, bytes, done, answered: false };
    const queue = this.queues.get(topic);
    if (queue) {
      queue.push(pending);
      return;
    }
    this.queues.set(topic, [pending]);
    // Pushes by the code now running join this batch.
    this.clock.next(() => this.drain(topic));
  }

  /** Resolves with the next answers. Call only while `crowded`. */
  answers(): Promise<void> {
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  /** Whether half of the room is taken: bulk callers leave the rest to others. */
  get crowded(): boolean {
    const { options } = this;
    return this.messages > 0 && (this.messages * 2 >= options.messages || this.bytes * 2 >= options.bytes);
  }

  /** Number of messages without an answer yet. */
  get pending(): number {
    return this.messages;
  }

  /** Bytes of those messages. */
  get pendingBytes(): number {
    return this.bytes;
  }

  /** Resolves once everything pushed before has its answer. */
  async flush(): Promise<void> {
    for (const topic of this.queues.keys()) this.drain(topic);
    await Promise.all(this.sending);
  }

  private fullBy(bytes: number): KqError | undefined {
    const { options } = this;
    if (this.messages < options.messages && (this.messages === 0 || this.bytes + bytes <= options.bytes))
      return;
    const limit = `${options.messages} messages or ${options.bytes} bytes`;
    const waiting = `${this.messages} messages of ${this.bytes} bytes are awaiting acknowledgement`;
    return new KqError('KQ_FULL', `${waiting}: expected fewer than ${limit}; await some pushes first`);
  }

  private drain(topic: string): void {
    const queue = this.queues.get(topic);
    if (!queue) return; // already flushed
    this.queues.delete(topic);
    for (let from = 0; from < queue.length;) {
      const to = this.endOf(queue, from);
      const sending = this.send(topic, queue.slice(from, to));
      this.sending.add(sending);
      void sending.then(() => this.sending.delete(sending));
      from = to;
    }
  }

  /** Never rejects, since its producer doesn't. */
  private async send(topic: string, batch: readonly Pending[]): Promise<void> {
    const messages = batch.map(({ message }) => message);
    const answers = await this.producer.send(topic, messages, (index, sent) =>
      this.answer(batch[index]!, sent),
    );
    batch.forEach((pending, index) => this.answer(pending, answers[index]!));
  }

  /** Returns the end of the batch that starts at `from`. */
  private endOf(all: readonly Pending[], from: number): number {
    let to = from;
    for (let bytes = 0; to < all.length; to++) {
      bytes += all[to]!.bytes;
      if (bytes > this.options.requestBytes && to > from) break;
    }
    return to;
  }

  private answer(pending: Pending, sent: Sent): void {
    if (pending.answered) return;
    pending.answered = true;
    this.messages--;
    this.bytes -= pending.bytes;
    pending.done(sent);
    if (this.waiting.length > 0) this.wake();
  }

  /** Wakes waiters once for all answers of a turn. */
  private wake(): void {
    if (this.waking) return;
    this.waking = true;
    this.clock.next(() => {
      this.waking = false;
      for (const resolve of this.waiting.splice(0)) resolve();
    });
  }
}

/** Returns an estimated size; headers and the log's own fields are counted roughly. */
function sizeOf({ key, value, headers = {} }: OutgoingMessage): number {
  let bytes = 64 + (key?.length ?? 0) + (value?.length ?? 0);
  for (const [name, header] of Object.entries(headers))
    for (const each of [header].flat()) bytes += name.length + (each?.length ?? 0);
  return bytes;
}
