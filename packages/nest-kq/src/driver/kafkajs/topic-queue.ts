/** Sends the messages of one topic: those of a partition in order, with one request at a time per leader. */
import type { Sent } from '../driver.js';
import type { OutgoingMessage } from '../message.js';
import { KqError } from '../../errors.js';
import type { Clock } from 'nest-handlers/time';
import { meant } from './kafkajs-errors.js';
import type { Partitioner } from '../partitioning.js';
import { partitionFor, type Placed } from '../placing.js';
import type { Leaders, TopicLeaders } from '../topic-leaders.js';
import { fits } from './requests.js';

export type Answered = (index: number, sent: Sent) => void;

/** One call of `send`, until all its messages have answers. */
export class Call {
  readonly done: Promise<readonly Sent[]>;
  private readonly answers: Sent[] = [];
  private left: number;
  private finish!: (answers: readonly Sent[]) => void;

  constructor(
    readonly messages: readonly OutgoingMessage[],
    /** Clock time. */
    readonly deadline: number,
    private readonly answered: Answered | undefined,
  ) {
    this.left = messages.length;
    this.done = new Promise((resolve) => (this.finish = resolve));
  }

  answer(index: number, sent: Sent): void {
    this.answers[index] = sent;
    this.answered?.(index, sent);
    if (--this.left === 0) this.finish(this.answers);
  }

  /** Fails all messages; none of them is in flight. */
  fail(error: KqError): void {
    for (let index = 0; index < this.messages.length; index++) this.answer(index, error);
  }
}

/** A message waiting for its answer. */
export interface Waiting extends Placed {
  readonly call: Call;
}

interface PartitionQueue {
  waiting: Waiting[];
  /** A request with its messages is in flight: the next one must follow it. */
  busy: boolean;
}

export interface TopicQueueOptions {
  readonly topic: string;
  /** Max bytes of one request. */
  readonly bytes: number;
  /** Answers each of these messages. Resolves with the reason why nothing more of the same calls may follow; never rejects. */
  send(request: readonly Waiting[]): Promise<KqError | undefined>;
  readonly partitioner: Partitioner | undefined;
  /** Increases with each call; selects the partition of messages without a key. */
  keyless(): number;
}

export class TopicQueue {
  /** Calls whose messages have no partition yet. */
  private readonly calls: Call[] = [];
  /** Partitions with unanswered messages, least recently sent first. */
  private readonly partitions = new Map<number, PartitionQueue>();
  /** Leaders with a request in flight. */
  private readonly sending = new Set<number>();
  private leaders: Leaders | undefined;
  private placing = false;

  constructor(
    private readonly topics: TopicLeaders,
    private readonly clock: Clock,
    private readonly options: TopicQueueOptions,
  ) {}

  get idle(): boolean {
    return this.calls.length === 0 && this.partitions.size === 0;
  }

  add(call: Call): void {
    this.calls.push(call);
    if (!this.placing) void this.placeAll();
  }

  private async placeAll(): Promise<void> {
    const { topic } = this.options;
    this.placing = true;
    while (this.calls.length > 0) {
      const { messages, deadline } = this.calls[0]!;
      try {
        const left = Math.max(0, deadline - this.clock.now());
        this.leaders =
          this.topics.known(topic, messages) ?? (await this.topics.leaders(topic, left, messages));
        this.place(this.calls.shift()!, this.leaders);
      } catch (error) {
        this.giveUp(meant(error, `cannot store in ${topic}`));
      }
    }
    this.placing = false;
    this.pump();
  }

  /** Fails waiting calls: all of them, or those past their deadline. */
  private giveUp(failure: KqError): void {
    const now = this.clock.now();
    const waiting = this.calls.splice(0);
    waiting.forEach((call, index) => {
      if (index > 0 && failure.code === 'KQ_AWAY' && call.deadline > now) this.calls.push(call);
      else call.fail(failure);
    });
  }

  private place(call: Call, leaders: Leaders): void {
    const { topic, partitioner } = this.options;
    const keyless = this.options.keyless();
    call.messages.forEach((message, index) => {
      const partition = partitionFor(topic, message, leaders, keyless, partitioner);
      if (partition instanceof KqError) return call.answer(index, partition);
      let queue = this.partitions.get(partition);
      if (!queue) this.partitions.set(partition, (queue = { waiting: [], busy: false }));
      queue.waiting.push({ index, partition, message, call });
    });
  }

  /** Starts a request to each leader that has none in flight, with everything that may follow. */
  private pump(): void {
    const { leaders, sending } = this;
    if (!leaders || sending.size === leaders.count) return;
    const ready = new Map<number, [partition: number, queue: PartitionQueue][]>();
    for (const entry of this.partitions) {
      const [partition, { busy, waiting }] = entry;
      const leader = leaders.of[partition] ?? -1;
      if (busy || waiting.length === 0 || sending.has(leader)) continue;
      const queues = ready.get(leader);
      if (queues) queues.push(entry);
      else ready.set(leader, [entry]);
    }
    for (const [leader, queues] of ready) void this.sendTo(leader, queues);
  }

  private async sendTo(leader: number, queues: readonly [number, PartitionQueue][]): Promise<void> {
    this.sending.add(leader);
    const request: Waiting[] = [];
    const taken: (typeof queues)[number][] = [];
    const room = { bytes: this.options.bytes };
    for (const entry of queues) {
      const [partition, queue] = entry;
      const count = fits(queue.waiting, room, request.length === 0);
      if (count === 0) break; // left for the next request
      request.push(...queue.waiting.slice(0, count));
      queue.waiting = queue.waiting.slice(count);
      queue.busy = true;
      taken.push(entry);
      this.partitions.delete(partition);
      this.partitions.set(partition, queue);
    }
    const failure = await this.options.send(request);
    this.sending.delete(leader);
    if (failure) this.dropRest(failure, request, taken);
    for (const [partition, queue] of taken) {
      queue.busy = false;
      if (queue.waiting.length === 0) this.partitions.delete(partition);
    }
    this.pump();
  }

  /** Fails what follows in a partition within calls that have failed there. */
  private dropRest(
    failure: KqError,
    request: readonly Waiting[],
    queues: readonly (readonly [number, PartitionQueue])[],
  ): void {
    const failed = new Set(request.map(({ call }) => call));
    const unsent = new KqError(failure.code, 'not sent, since an earlier message failed', { cause: failure });
    for (const [, queue] of queues) {
      const rest = queue.waiting.filter(({ call }) => failed.has(call));
      queue.waiting = queue.waiting.filter(({ call }) => !failed.has(call));
      for (const { call, index } of rest) call.answer(index, unsent);
    }
  }
}
