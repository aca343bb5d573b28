/** Turns handlers into subscriptions of the consumer. */
import type { Subscription } from '../consumer/group-consumer.js';
import type { RunSignal } from '../consumer/run-signal.js';
import type { MemoryBudget } from '../consumer/memory-budget.js';
import type { Delivery, Skip } from '../consumer/topic-work.js';
import type { Delays, FailedMessage, LaterOutcome } from '../delays/delays.js';
import type { OutgoingMessage } from '../driver/message.js';
import type { EventHub } from '../events/event-hub.js';
import type { KqHooks } from '../events/hooks.js';
import type { LetterTopic } from '../failures/failure-options.js';
import { HandlerRuns, type MessageHandler } from '../failures/handler-runs.js';
import { retryTopicOf } from '../driver/made-topics.js';
import { RetryRuns } from '../failures/retry-runs.js';
import { detached } from 'nest-handlers/context';
import type { Clock } from 'nest-handlers/time';
import type { FoundHandler } from './handler-explorer.js';
import { patternOf, type HandlerSettings } from './handler-options.js';
import type { MessageItem } from './message-handlers.js';

export interface SubscribingParts {
  readonly clock: Clock;
  readonly events: EventHub;
  readonly budget: MemoryBudget;
  /** Hook around each call of the handler. */
  readonly around?: KqHooks['aroundHandler'];
  /** Stores a dead letter; rejects with a `KqError`. */
  store(to: LetterTopic, letter: OutgoingMessage): Promise<unknown>;
  /** Absent if the application doesn't have nest-dq. */
  readonly delays?: Pick<Delays, 'retry'>;
}

/** A running handler. */
export interface Subscribed extends Subscription {
  /** Runs a delayed message; returns undefined if its topic belongs to another handler. */
  runLater(failed: FailedMessage, signal: AbortSignal): Promise<LaterOutcome> | undefined;
  /** Its retry topics, each with the topic whose messages wait there. */
  readonly retries: ReadonlyMap<string, string>;
}

/** Returns two subscriptions if there are retry topics, so that waiting messages don't block others. */
export function subscriptionsOf(found: FoundHandler, parts: SubscribingParts): readonly Subscribed[] {
  const { handler, isSurrounded, settings } = found;
  const { clock, events, budget, delays, around } = parts;
  const { group, order, concurrency, lookAhead, batch, failures } = settings;
  const room = { messages: lookAhead, budget };
  const skipped = ({ from, to, ...place }: Skip) =>
    events.emit('skipped', { ...place, group, from: String(from), to: String(to), count: Number(to - from) });
  const inner: MessageHandler = around
    ? (value, item: MessageItem) => {
        const run = { group, messages: [item].flat(), batch: batch !== undefined };
        return around(run, () => handler(value, item));
      }
    : handler;
  // An enhancer such as ClsGuard enters an async store that must end with the run. A scope around each run of a bare handler
  // would cost a fifth of the throughput.
  const isAlone = !around && !isSurrounded;
  // Each topic has its own format and schema.
  const runs = settings.topics.map((topic) => ({
    pattern: patternOf(topic),
    of: new HandlerRuns(clock, {
      group,
      topic: topic instanceof RegExp ? topic.source : topic,
      handler: inner,
      batches: batch !== undefined,
      settings: failures,
      events,
      store: (to, letter) => parts.store(to, letter),
      ...(delays && { delays }),
    }),
  }));
  const find = (topic: string) => {
    const named = runs.find(({ pattern }) => pattern === topic);
    return named ?? runs.find(({ pattern }) => topic.search(pattern) >= 0);
  };
  const run = (deliveries: readonly Delivery[], signal: RunSignal) => {
    const { of } = find(deliveries[0]!.topic)!; // all are from one partition
    return isAlone ? of.run(deliveries, signal) : detached(() => of.run(deliveries, signal));
  };
  const retries = retryTopics(settings);
  const own: Subscribed = {
    topics: runs.map(({ pattern }) => pattern),
    order,
    concurrency,
    size: batch?.size ?? 1,
    within: batch?.within ?? 0,
    room,
    run,
    stalled: ({ offset, ...stall }) => events.emit('stalled', { ...stall, group, offset: String(offset) }),
    skipped,
    // Runs within a nest-dq run, which has its own scope and may be part of a trace.
    runLater: (failed, signal) => find(failed.topic)?.of.runLater(failed, signal),
    retries: new Map(),
  };
  if (retries.size === 0) return [own];
  const again = new RetryRuns(clock, retries, run);
  const waiting: Subscribed = {
    topics: [...retries.keys()],
    order: 'none',
    concurrency,
    size: 1,
    within: 0,
    room,
    run: (deliveries, signal) => again.run(deliveries, signal),
    skipped,
    runLater: () => undefined,
    retries,
  };
  return [own, waiting];
}

function retryTopics({ topics, group, failures }: HandlerSettings): Map<string, string> {
  const names = topics.map(patternOf).filter((topic) => typeof topic === 'string');
  return new Map(
    names.flatMap((topic) =>
      failures.delays.map((delay) => [retryTopicOf(topic, group, delay), topic] as const),
    ),
  );
}
