import { MethodMarks, type ListenerMark } from 'nest-handlers';
import { show } from '../errors.js';
import { scopedName } from '../events/event-hub.js';
import type { DqClusterEventMap, DqClusterEventName, DqEventMap, DqEventName } from '../events/events.js';
import { JOB_HANDLERS } from './job-handlers.js';

/** Marks of all `@OnDq` methods. */
export const listenerMarks = new MethodMarks<ListenerMark<ReturnType<typeof scopedName>>>(
  JOB_HANDLERS,
  'listeners',
);

/**
 * Calls this method of a provider or controller on each event of that name. If it throws or rejects, the error is logged and
 * nothing else changes. A request-scoped or transient class, or an unknown event, is `DQ_CONFIG` when the application starts.
 * @param options `cluster`: the name of the cluster, if it has one. `scope`: `'process'`, or `'cluster'` for the event of all
 * processes, see `DqEvents`. Default: `'process'`.
 */
export function OnDq<N extends DqEventName>(
  name: N,
  options?: { cluster?: string; scope?: 'process' },
): <M extends (event: DqEventMap[N]) => unknown>(
  target: object,
  method: string | symbol,
  descriptor: TypedPropertyDescriptor<M>,
) => void;
export function OnDq<N extends DqClusterEventName>(
  name: N,
  options: { cluster?: string; scope: 'cluster' },
): <M extends (event: DqClusterEventMap[N]) => unknown>(
  target: object,
  method: string | symbol,
  descriptor: TypedPropertyDescriptor<M>,
) => void;
export function OnDq(name: DqEventName, options?: { cluster?: string; scope?: 'process' | 'cluster' }) {
  return (target: object, method: string | symbol, descriptor: TypedPropertyDescriptor<any>): void => {
    const { scope, ...others } = options ?? {};
    const event = scopedName(name, scope);
    listenerMarks.add({ event, options: others }, `@OnDq(${show(name)})`, target, method, descriptor);
  };
}
