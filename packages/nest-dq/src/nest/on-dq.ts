import { MethodMarks, type ListenerMark } from 'nest-handlers';
import { show } from '../errors.js';
import type { DqEventMap, DqEventName } from '../events/events.js';
import { JOB_HANDLERS } from './job-handlers.js';

/** Marks of all `@OnDq` methods. */
export const listenerMarks = new MethodMarks<ListenerMark<DqEventName>>(JOB_HANDLERS, 'listeners');

/**
 * Calls this method of a provider or controller on each event of that name, in this process only. If it throws or rejects, the
 * error is logged and nothing else changes. A request-scoped or transient class, or an unknown event, is `DQ_CONFIG` when the
 * application starts.
 * @param options `cluster`: the name of the cluster, if it has one.
 */
export function OnDq<N extends DqEventName>(
  name: N,
  options?: { cluster?: string },
): <M extends (event: DqEventMap[N]) => unknown>(
  target: object,
  method: string | symbol,
  descriptor: TypedPropertyDescriptor<M>,
) => void {
  return (target, method, descriptor) =>
    listenerMarks.add({ event: name, options }, `@OnDq(${show(name)})`, target, method, descriptor);
}
