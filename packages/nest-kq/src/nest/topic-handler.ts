import { HandlerMarks, type HandlerDescriptor } from 'nest-handlers';
import type { KqMessage } from '../api/received.js';
import type { Topic, TopicChoice, ValueOf } from '../api/topic.js';
import { show } from '../errors.js';
import type { BatchOptions, TopicHandlerOptions } from './handler-options.js';
import { MESSAGE_HANDLERS } from './message-handlers.js';

/** Type of a handler's values; any for a plain name or an expression. */
export type HandledValue<T extends TopicChoice> = T extends Topic ? ValueOf<T> : any;

/** Any if V is any, so that decorators may move value and message. */
type Given<V, T> = 0 extends 1 & V ? any : T;

/** A method that `@TopicHandler` accepts. The third and later parameters need a parameter decorator. */
export type DecoratedHandler<V> = (value: V, message: Given<V, KqMessage<V>>, ...decorated: any[]) => unknown;

/** A method that `@TopicHandler` with `batch` accepts: a value and its message have the same index in both lists. */
export type DecoratedBatchHandler<V> = (
  values: Given<V, V[]>,
  messages: Given<V, readonly KqMessage<V>[]>,
  ...decorated: any[]
) => unknown;

/** Arguments of a `@TopicHandler`; checked at startup. */
export interface TopicMark {
  readonly topics: unknown;
  readonly options?: TopicHandlerOptions;
}

/** The `@TopicHandler` marks of methods. */
export const topicMarks = new HandlerMarks<TopicMark>(MESSAGE_HANDLERS, 'handlers');

type Decorates<H extends (...args: any[]) => unknown> = <M extends H>(
  target: object,
  method: string | symbol,
  descriptor: HandlerDescriptor<M>,
) => void;

/**
 * Makes the method handle batches: `(values, messages)`. It may return `Retry` or `Discard` for all of them, or an array with an
 * outcome or an Error at the index of each message it couldn't handle, or the result of `Promise.allSettled`. Otherwise as
 * below.
 */
export function TopicHandler<T extends TopicChoice>(
  topics: T | readonly T[],
  options: TopicHandlerOptions & { batch: BatchOptions },
): Decorates<DecoratedBatchHandler<HandledValue<T>>>;
/**
 * Makes a method of a provider or controller handle the messages of these topics: `(value, message)`; the value of a tombstone
 * is null. Each message is handled at least once. Within a group, a topic has one handler per process. An expression covers all
 * matching topics, including ones created later; for a plain name or an expression, values are read as JSON.
 *
 * The method can return or throw `Retry` or `Discard`. Throwing anything else is a failure; returning anything else means the
 * message is handled. For an Observable the last value counts. Guards, pipes, interceptors and exception filters apply,
 * including global ones.
 *
 * At startup, wrong options, two handlers of one topic in one group, and a `cluster` that no module registers are `KQ_CONFIG`; a
 * topic that doesn't exist is `KQ_UNKNOWN_TOPIC`.
 */
export function TopicHandler<T extends TopicChoice>(
  topics: T | readonly T[],
  options?: TopicHandlerOptions & { batch?: undefined },
): Decorates<DecoratedHandler<HandledValue<T>>>;
export function TopicHandler(topics: unknown, options?: TopicHandlerOptions): MethodDecorator {
  return (target, method, descriptor) => {
    topicMarks.add({ topics, options }, `@TopicHandler(${show(topics)})`, target, method, descriptor);
  };
}
