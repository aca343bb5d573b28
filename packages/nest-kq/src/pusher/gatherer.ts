/** Makes few requests of many pushes, with no timer: what comes while a request is under way goes with the next one. */
import type { LogProducer, Sent } from '../driver/driver.js';
import type { OutgoingMessage, PartitionOffset } from '../driver/message.js';
import { KqError } from '../errors.js';
import type { Clock } from '../time/clock.js';

/** How much may wait, and how much goes at once. */
export interface GathererOptions {
  /** Messages that wait for their answer, of all topics. */
  readonly messages: number;
  /** Bytes of their keys and values. */
  readonly bytes: number;
  /** Bytes of one request at most; a larger message goes alone. */
  readonly requestBytes: number;
}

interface Pending {
  readonly message: OutgoingMessage;
  readonly bytes: number;
  resolve(stored: PartitionOffset): void;
  reject(error: KqError): void;
}

interface Queue {
  readonly topic: string;
  /** In the order of the pushes. */
  pending: Pending[];
  /** A request is under way, or the turn that begins one. */
  busy: boolean;
}

/** Messages of a topic are sent in the order in which they were pushed, one request after the other. */
export class Gatherer {
  private readonly queues = new Map<string, Queue>();
  private messages = 0;
  private bytes = 0;
  private idle: (() => void)[] = [];
  private closed = false;

  constructor(
    private readonly producer: Pick<LogProducer, 'send'>,
    private readonly clock: Clock,
    private readonly options: GathererOptions,
  ) {}

  /**
   * Rejects with what the producer answers for this message, with `KQ_FULL` if too much waits already (nothing of the
   * message is stored then), or with `KQ_CLOSED`.
   */
  push(topic: string, message: OutgoingMessage): Promise<PartitionOffset> {
    if (this.closed) return Promise.reject(new KqError('KQ_CLOSED', 'the pusher is closed'));
    const bytes = sizeOf(message);
    const full = this.fullBy(bytes);
    if (full) return Promise.reject(full);
    this.messages++;
    this.bytes += bytes;
    return new Promise((resolve, reject) => {
      const queue = this.queueOf(topic);
      queue.pending.push({ message, bytes, resolve, reject });
      if (queue.busy) return;
      queue.busy = true;
      // What the code that runs now pushes as well goes with it.
      this.clock.next(() => void this.drain(queue));
    });
  }

  /** Resolves once all that was pushed before has its answer. */
  async flush(): Promise<void> {
    if (this.messages === 0) return;
    await new Promise<void>((resolve) => this.idle.push(resolve));
  }

  /** Takes no more. Resolves once all that was pushed has its answer. Idempotent. */
  async close(): Promise<void> {
    this.closed = true;
    await this.flush();
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
    const queue: Queue = { topic, pending: [], busy: false };
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
      batch.forEach((pending, index) => this.answer(pending, answers[index]!));
    }
    // Topics may be many, over the life of a process.
    this.queues.delete(queue.topic);
    if (this.messages > 0) return;
    for (const resolve of this.idle.splice(0)) resolve();
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

  private answer({ bytes, resolve, reject }: Pending, sent: Sent): void {
    this.messages--;
    this.bytes -= bytes;
    if (sent instanceof KqError) reject(sent);
    else resolve(sent);
  }
}

/** Its headers and the log's own fields counted roughly. */
function sizeOf({ key, value, headers = {} }: OutgoingMessage): number {
  let bytes = 64 + (key?.length ?? 0) + (value?.length ?? 0);
  for (const [name, header] of Object.entries(headers))
    for (const each of [header].flat()) bytes += name.length + (each?.length ?? 0);
  return bytes;
}
