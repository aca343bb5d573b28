import type { MessageOptions, Pushed, PushResult } from '../api/message.js';
import { topicName, type Topic } from '../api/topic.js';
import type { Sent } from '../driver/driver.js';
import type { PartitionOffset } from '../driver/message.js';
import { KqError, toError, wrongValue } from '../errors.js';
import type { EventHub } from '../events/event-hub.js';
import { pushedTo, type PushHooks } from '../events/hooks.js';
import { carrying } from './carrying.js';
import type { Gatherer } from './gatherer.js';
import { prepare, type Prepared } from './outgoing.js';

/** A message of a `pushMany`. */
export type MessageOfMany = MessageOptions & { readonly value: unknown };

/** The events and hooks of pushes. */
export interface PushParts {
  readonly events: EventHub;
  readonly hooks: PushHooks;
}

/** Passes messages to a gatherer: those of a topic in the order of the calls, even if a schema is asynchronous. */
export class Pushes {
  /** By topic, resolves when the messages waiting for their schema have been passed to the gatherer. */
  private readonly turns = new Map<string, Promise<void>>();
  /** Pending calls of `pushMany`. */
  private readonly many = new Set<Promise<unknown>>();

  constructor(
    private readonly gatherer: Gatherer,
    private readonly parts: PushParts,
  ) {}

  async push(topic: string | Topic, value: unknown, options: MessageOptions = {}): Promise<Pushed> {
    const name = topicName(topic);
    const pushing = () => this.pushOne(topic, name, value, options);
    const { aroundPush } = this.parts.hooks;
    return aroundPush
      ? aroundPush({ ...pushedTo(name, options), count: 1, many: false }, pushing)
      : pushing();
  }

  async pushMany(topic: string | Topic, messages: Iterable<MessageOfMany>): Promise<PushResult[]> {
    const name = topicName(topic);
    const list = listOf(messages);
    const pushing = () => this.pushAll(topic, name, list);
    const { aroundPush } = this.parts.hooks;
    return aroundPush ? aroundPush({ topic: name, count: list.length, many: true }, pushing) : pushing();
  }

  /** Prepares a message, including the headers hooks add. */
  prepare(
    topic: string | Topic,
    name: string,
    value: unknown,
    options: MessageOptions,
  ): Prepared | PromiseLike<Prepared> {
    const { onPush } = this.parts.hooks;
    const carried = onPush ? carrying(onPush, name, options) : options;
    return carried instanceof KqError ? carried : prepare(topic, name, value, carried);
  }

  private async pushOne(
    topic: string | Topic,
    name: string,
    value: unknown,
    options: MessageOptions,
  ): Promise<Pushed> {
    const prepared = this.prepare(topic, name, value, options);
    const storing =
      'then' in prepared || this.turns.has(name) ? this.inTurn(name, prepared) : this.store(name, prepared);
    let stored: PartitionOffset;
    try {
      stored = await storing;
    } catch (error) {
      this.emitFailed(name, options, toError(error));
      throw error;
    }
    const pushed = pushedOf(name, stored);
    this.parts.events.emit('pushed', pushed);
    return pushed;
  }

  private async pushAll(
    topic: string | Topic,
    name: string,
    list: readonly MessageOfMany[],
  ): Promise<PushResult[]> {
    const storing = this.storeAll(topic, name, list);
    this.many.add(storing);
    const sent = await storing;
    this.many.delete(storing);
    return sent.map((each, index) => {
      if (each instanceof KqError) {
        this.emitFailed(name, list[index]!, each);
        return { error: each };
      }
      const pushed = pushedOf(name, each);
      this.parts.events.emit('pushed', pushed);
      return { pushed };
    });
  }

  /** Resolves once everything pushed before has its answer. */
  async flush(): Promise<void> {
    await Promise.all([...this.many, ...this.turns.values()]);
    await this.gatherer.flush();
  }

  private store(name: string, message: Prepared): Promise<PartitionOffset> {
    return message instanceof KqError ? Promise.reject(message) : this.gatherer.push(name, message);
  }

  private emitFailed(topic: string, options: MessageOptions, error: Error): void {
    const { events } = this.parts;
    if (events.heard('pushFailed')) events.emit('pushFailed', { ...pushedTo(topic, options), error });
  }

  /** Stores a message after those of the topic that are waiting for their schema. */
  private inTurn(name: string, prepared: Prepared | PromiseLike<Prepared>): Promise<PartitionOffset> {
    const before = this.turns.get(name);
    return new Promise((resolve) => {
      const enter = async () => {
        await before;
        resolve(this.store(name, await prepared));
      };
      const turn = enter().then(() => {
        if (this.turns.get(name) === turn) this.turns.delete(name);
      });
      this.turns.set(name, turn);
    });
  }

  /** Prepares messages as room becomes available, so that a long list isn't held in memory twice. */
  private async storeAll(
    topic: string | Topic,
    name: string,
    messages: readonly MessageOfMany[],
  ): Promise<readonly Sent[]> {
    const { gatherer } = this;
    const answers: Sent[] = [];
    let left = messages.length;
    let finish = () => {};
    const finished = new Promise<void>((resolve) => (finish = resolve));
    const answer = (index: number, sent: Sent) => {
      answers[index] = sent;
      if (--left === 0) finish();
    };
    if (left === 0) finish();
    await this.turns.get(name);
    for (const [index, { value, ...options }] of messages.entries()) {
      const prepared = this.prepare(topic, name, value, options);
      const message = 'then' in prepared ? await prepared : prepared;
      while (gatherer.crowded) await gatherer.answers();
      if (message instanceof KqError) answer(index, message);
      else gatherer.add(name, message, (sent) => answer(index, sent));
    }
    await finished;
    return answers;
  }
}

function pushedOf(topic: string, { partition, offset }: PartitionOffset): Pushed {
  return { topic, partition, offset: String(offset) };
}

/** Reads the whole list before anything is stored, since an iterator may fail midway. */
function listOf(messages: Iterable<MessageOfMany>): readonly MessageOfMany[] {
  if (typeof messages !== 'object' || messages === null || !(Symbol.iterator in messages))
    throw wrongValue('KQ_BAD_MESSAGE', 'the list of messages', messages, 'an array or another iterable');
  const list = Array.from(messages);
  const wrong = list.findIndex((each) => typeof each !== 'object' || each === null);
  if (wrong < 0) return list;
  const expected = 'an object with `value`';
  throw wrongValue('KQ_BAD_MESSAGE', `message ${wrong} of the list`, list[wrong], expected);
}
