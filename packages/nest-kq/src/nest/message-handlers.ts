import type { ArgumentsHost } from '@nestjs/common';
import type { ClusterKind } from 'nest-handlers';
import { isOutcome } from '../api/outcome.js';
import type { KqMessage } from '../api/received.js';
import { KqError, show, toError } from '../errors.js';
import { asConfigError } from './option-checks.js';

/** The item of a handler call: a message, or those of a batch. */
export type MessageItem = KqMessage | readonly KqMessage[];

/** Runs whose handler is still going although an interceptor ended them. */
const unfinished = new WeakMap<object, Promise<unknown>>();

/** Message handlers as a kind of handler. */
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

/** Resolves when a handler that an interceptor didn't wait for has ended; undefined if it already has. */
export function unfinishedOf(item: MessageItem): Promise<unknown> | undefined {
  return unfinished.get(item);
}

/**
 * Whether a guard, interceptor, filter or parameter decorator runs for a message rather than a request. The arguments are the
 * value and the `KqMessage`, or a list of each for batches: `const [value, message] = context.getArgs()`.
 */
export function isKqContext(host: ArgumentsHost): boolean {
  return host.getType<string>() === MESSAGE_HANDLERS.context;
}
