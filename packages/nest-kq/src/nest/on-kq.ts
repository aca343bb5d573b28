import { MethodMarks, type ListenerMark } from 'nest-handlers';
import { show } from '../errors.js';
import type { KqEventMap, KqEventName } from '../events/events.js';
import { MESSAGE_HANDLERS } from './message-handlers.js';

/** The `@OnKq` marks of methods. */
export const listenerMarks = new MethodMarks<ListenerMark<KqEventName>>(MESSAGE_HANDLERS, 'listeners');

/**
 * Calls this method of a provider or controller with each event of that name, in this process only. If it throws or rejects, the
 * error is logged and changes nothing. A request-scoped or transient class and an unknown event are `KQ_CONFIG` at startup.
 * @param options `cluster`: the name of the cluster, if it has one.
 */
export function OnKq<N extends KqEventName>(
  name: N,
  options?: { cluster?: string },
): <M extends (event: KqEventMap[N]) => unknown>(
  target: object,
  method: string | symbol,
  descriptor: TypedPropertyDescriptor<M>,
) => void {
  return (target, method, descriptor) =>
    listenerMarks.add({ event: name, options }, `@OnKq(${show(name)})`, target, method, descriptor);
}
