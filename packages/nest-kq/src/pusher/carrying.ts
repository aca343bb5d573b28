import type { MessageOptions } from '../api/message.js';
import { KqError, toError } from '../errors.js';
import { pushedTo, type KqHooks } from '../events/hooks.js';

/** Returns the options with the headers that hooks add; `KQ_BAD_MESSAGE` if a hook throws. */
export function carrying(
  onPush: NonNullable<KqHooks['onPush']>,
  topic: string,
  options: MessageOptions,
): MessageOptions | KqError {
  // Anything but a plain object is refused later, with the message.
  if (!isPlain(options) || !isPlain(options.headers ?? {})) return options;
  const carried: Record<string, string> = {};
  try {
    onPush(carried, pushedTo(topic, options));
  } catch (thrown) {
    const cause = toError(thrown);
    return new KqError('KQ_BAD_MESSAGE', `a hook failed on a message for ${topic}: ${cause.message}`, {
      cause,
    });
  }
  return { ...options, headers: { ...options.headers, ...carried } };
}

function isPlain(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
