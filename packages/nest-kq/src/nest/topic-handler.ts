import { HandlerMarks, type HandlerDescriptor } from 'nest-handlers';
import type { KqMessage } from '../api/received.js';
import type { Topic, TopicChoice, ValueOf } from '../api/topic.js';
import { show } from '../errors.js';
import type { BatchOptions, TopicHandlerOptions } from './handler-options.js';
import { MESSAGE_HANDLERS } from './message-handlers.js';

/** The type of a handler's values: of a name or an expression, any. */
export type HandledValue<T extends TopicChoice> = T extends Topic ? ValueOf<T> : any;

/** Any, where V is any: then value and message may stand elsewhere, by their decorators. */
type Given<V, T> = 0 extends 1 & V ? any : T;

/** A method that `@TopicHandler` takes. The third parameter and later ones need a parameter decorator. */
export type DecoratedHandler<V> = (value: V, message: Given<V, KqMessage<V>>, ...decorated: any[]) => unknown;

/** A method that `@TopicHandler` with `batch` takes: a message's value and the message have the same place in both lists. */
export type DecoratedBatchHandler<V> = (
  values: Given<V, V[]>,
  messages: Given<V, readonly KqMessage<V>[]>,
  ...decorated: any[]
) => unknown;

/** What a `@TopicHandler` says; checked at the start of the application. */
export interface TopicMark {
  readonly topics: unknown;
  readonly options?: TopicHandlerOptions;
}

/** The `@TopicHandler`s of methods. */
export const topicMarks = new HandlerMarks<TopicMark>(MESSAGE_HANDLERS, 'handlers');

type Decorates<H extends (...args: any[]) => unknown> = <M extends H>(
  target: object,
  method: string | symbol,
  descriptor: HandlerDescriptor<M>,
) => void;

/**
 * Handles batches by this method `(values, messages)`. It may return `Retry` or `Discard` for all of them, or an array with
 * an outcome or an Error in the places of the messages that it could not handle, also as `Promise.allSettled` gives it.
 * Else as below.
 */
export function TopicHandler<T extends TopicChoice>(
  topics: T | readonly T[],
  options: TopicHandlerOptions & { batch: BatchOptions },
): Decorates<DecoratedBatchHandler<HandledValue<T>>>;
/**
 * Handles the messages of these topics by this method `(value, message)` of a provider or controller; a tombstone's value
 * is null. Each message is handled at least once. In a group, a topic has one handler in each process. An expression means
 * the topics that it matches, also those that come later; of a plain name or an expression, values are read as JSON.
 *
 * The method can return or throw `Retry` or `Discard`; throwing anything else is a failure; what else it returns means
 * that the message is handled. The last value of an Observable counts. Guards, pipes, interceptors and exception filters
 * apply, global ones too.
 *
 * At the start of the application, wrong options, two handlers of one topic in one group, and a `cluster` that no module
 * registers are `KQ_CONFIG`; a topic that does not exist is `KQ_UNKNOWN_TOPIC`.
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
