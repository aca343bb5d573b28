/** What the consumer needs to know of a handler. */
import type { Subscription } from '../consumer/group-consumer.js';
import type { OutgoingMessage } from '../driver/message.js';
import { HandlerRuns, type FailureEvents } from '../failures/handler-runs.js';
import type { Clock } from '../time/clock.js';
import type { FoundHandler } from './handler-explorer.js';
import { patternOf } from './handler-options.js';

/** Of each partition. Beyond it, its fetch is held. */
const MESSAGES = 1_000;
const BYTES = 16 * 2 ** 20;

export interface SubscribingParts {
  readonly clock: Clock;
  readonly events: FailureEvents;
  /** Stores a dead letter; rejects with a `KqError`. */
  store(topic: string, letter: OutgoingMessage): Promise<unknown>;
}

export function subscriptionOf({ handler, settings }: FoundHandler, parts: SubscribingParts): Subscription {
  const { clock, events } = parts;
  const { group, order, concurrency, batch, failures } = settings;
  // Each topic has its own format and schema.
  const runs = settings.topics.map((topic) => ({
    pattern: patternOf(topic),
    of: new HandlerRuns(clock, {
      group,
      topic: topic instanceof RegExp ? topic.source : topic,
      handler,
      batches: batch !== undefined,
      settings: failures,
      events,
      store: (to, letter) => parts.store(to, letter),
    }),
  }));
  return {
    topics: runs.map(({ pattern }) => pattern),
    order,
    concurrency,
    size: batch?.size ?? 1,
    within: batch?.within ?? 0,
    room: { messages: Math.max(MESSAGES, 2 * (batch?.size ?? 1)), bytes: BYTES },
    run(deliveries, signal) {
      const name = deliveries[0]!.topic; // all are of one partition
      const named = runs.find(({ pattern }) => pattern === name);
      const found = named ?? runs.find(({ pattern }) => name.search(pattern) >= 0);
      return found!.of.run(deliveries, signal);
    },
  };
}
