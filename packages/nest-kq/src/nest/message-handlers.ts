import type { ArgumentsHost } from '@nestjs/common';
import type { ClusterKind } from 'nest-handlers';
import { isOutcome } from '../api/outcome.js';
import type { KqMessage } from '../api/received.js';
import { KqError, show, toError } from '../errors.js';
import { asConfigError } from './option-checks.js';

/** What a handler is called for: a message, or those of a batch. */
export type MessageItem = KqMessage | readonly KqMessage[];

/** The runs whose handler goes on although an interceptor ended them. */
const unfinished = new WeakMap<object, Promise<unknown>>();

/** The handlers of messages. */
export const MESSAGE_HANDLERS: ClusterKind<MessageItem> = {
  library: 'nest-kq',
  context: 'kq',
  contextCheck: 'isKqContext',
  module: 'KqModule',
  item: 'message',
  parameters: '@MessageValue(), @CurrentMessage()',
  show,
  asConfigError,
  configError: (message) => new KqError('KQ_CONFIG', message),
  readError: (thrown) => toError(thrown),
  isOutcome,
  abandon: (item, handler) => void unfinished.set(item, handler),
};

/** Settles when the handler of this item, which an interceptor did not wait for, has ended; undefined: it has. */
export function unfinishedOf(item: MessageItem): Promise<unknown> | undefined {
  return unfinished.get(item);
}

/**
 * Whether a guard, interceptor, filter or parameter decorator is at work for a message and not for a request. The arguments
 * are the value and the `KqMessage`, of batches the list of each: `const [value, message] = context.getArgs()`.
 */
export function isKqContext(host: ArgumentsHost): boolean {
  return host.getType<string>() === MESSAGE_HANDLERS.context;
}
