/** Makes few requests of many pushes, with no timer: what comes while a request is under way goes with the next one. */
import type { LogProducer, Sent } from '../driver/driver.js';
import type { OutgoingMessage, PartitionOffset } from '../driver/message.js';
import { KqError } from '../errors.js';
import type { Clock } from 'nest-handlers/time';

/** How much may wait, and how much goes at once. */
export interface GathererOptions {
  /** Messages that wait for their answer, of all topics. */
  readonly messages: number;
  /** Bytes of their keys and values. */
  readonly bytes: number;
  /** Bytes of one request at most; a larger message goes alone. */
  readonly requestBytes: number;
}

/** Where a message is stored, or why not. */
export type Done = (this: void, sent: Sent) => void;

interface Pending {
  readonly message: OutgoingMessage;
  readonly bytes: number;
  readonly done: Done;
  /** Who waits for the answer beside its pusher. */
  flushed?: (() => void)[];
}

interface Queue {
  readonly topic: string;
  /** In the order of the pushes. */
  pending: Pending[];
  /** The last one that has no answer yet. */
  last: Pending | undefined;
  /** A request is under way, or the turn that begins one. */
  busy: boolean;
}

/** Messages of a topic are sent in the order in which they were pushed, one request after the other. */
export class Gatherer {
  private readonly queues = new Map<string, Queue>();
  private messages = 0;
  private bytes = 0;
  /** Those who wait for the next answers. */
  private waiting: (() => void)[] = [];

  constructor(
    private readonly producer: Pick<LogProducer, 'send'>,
    private readonly clock: Clock,
    private readonly options: GathererOptions,
  ) {}

  /**
   * Rejects with what the producer answers for this message, or with `KQ_FULL` if too much waits already (nothing of the
   * message is stored then).
   */
  push(topic: string, message: OutgoingMessage): Promise<PartitionOffset> {
    return new Promise((resolve, reject) => {
      this.add(topic, message, (sent) => (sent instanceof KqError ? reject(sent) : resolve(sent)));
    });
  }

  /** The same without a promise. */
  add(topic: string, message: OutgoingMessage, done: Done): void {
    const bytes = sizeOf(message);
    const refusal = this.fullBy(bytes);
    if (refusal) return done(refusal);
    this.messages++;
    this.bytes += bytes;
    const queue = this.queueOf(topic);
    queue.last = { message, bytes, done };
    queue.pending.push(queue.last);
    if (queue.busy) return;
    queue.busy = true;
    // What the code that runs now pushes as well goes with it.
    this.clock.next(() => void this.drain(queue));
  }

  /** Resolves with the next answers. Only to be called while it is crowded. */
  answers(): Promise<void> {
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  /** Half of the room is taken: who has many messages leaves the rest to others. */
  get crowded(): boolean {
    const { options } = this;
    return this.messages > 0 && (this.messages * 2 >= options.messages || this.bytes * 2 >= options.bytes);
  }

  /** Messages that have no answer yet. */
  get pending(): number {
    return this.messages;
  }

  /** Of those messages. */
  get pendingBytes(): number {
    return this.bytes;
  }

  /** Resolves once all that was pushed before has its answer. */
  async flush(): Promise<void> {
    const lasts = Array.from(this.queues.values(), ({ last }) => last).filter((last) => last !== undefined);
    await Promise.all(
      lasts.map((last) => new Promise<void>((resolve) => (last.flushed ??= []).push(resolve))),
    );
  }

  private fullBy(bytes: number): KqError | undefined {
    const { options } = this;
    if (this.messages < options.messages && (this.messages === 0 || this.bytes + bytes <= options.bytes))
      return;
    const limit = `${options.messages} messages or ${options.bytes} bytes`;
    const waiting = `${this.messages} messages of ${this.bytes} bytes wait for their answer`;
    return new KqError('KQ_FULL', `${waiting}: expected less than ${limit}; await some pushes first`);
  }

  private queueOf(topic: string): Queue {
    const known = this.queues.get(topic);
    if (known) return known;
    const queue: Queue = { topic, pending: [], last: undefined, busy: false };
    this.queues.set(topic, queue);
    return queue;
  }

  private async drain(queue: Queue): Promise<void> {
    while (queue.pending.length > 0) {
      const batch = this.next(queue);
      const answers = await this.producer.send(
        queue.topic,
        batch.map(({ message }) => message),
      );
      if (batch.at(-1) === queue.last) queue.last = undefined;
      batch.forEach((pending, index) => this.answer(pending, answers[index]!));
      for (const resolve of this.waiting.splice(0)) resolve();
    }
    // Topics may be many, over the life of a process.
    this.queues.delete(queue.topic);
  }

  private next(queue: Queue): readonly Pending[] {
    let count = 0;
    for (let bytes = 0; count < queue.pending.length; count++) {
      bytes += queue.pending[count]!.bytes;
      if (bytes > this.options.requestBytes && count > 0) break;
    }
    const all = queue.pending;
    queue.pending = all.slice(count);
    return all.slice(0, count);
  }

  private answer({ bytes, done, flushed = [] }: Pending, sent: Sent): void {
    this.messages--;
    this.bytes -= bytes;
    done(sent);
    for (const resolve of flushed) resolve();
  }
}

/** Its headers and the log's own fields counted roughly. */
function sizeOf({ key, value, headers = {} }: OutgoingMessage): number {
  let bytes = 64 + (key?.length ?? 0) + (value?.length ?? 0);
  for (const [name, header] of Object.entries(headers))
    for (const each of [header].flat()) bytes += name.length + (each?.length ?? 0);
  return bytes;
}
