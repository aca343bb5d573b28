import { Reflector } from '@nestjs/core';
import { DqError, show } from '../errors.js';
import type { DqEventMap, DqEventName } from '../events/events.js';

/** What an `@OnDq` says; checked at the start of the application. */
export interface ListenerMark {
  readonly event: DqEventName;
  readonly options?: { readonly cluster?: string };
}

const Marks = Reflector.createDecorator<readonly ListenerMark[]>({ key: 'nest-dq:listeners' });
const reflector = new Reflector();

/**
 * Calls this method of a provider or controller with each event of that name, of this process only. What it throws, or
 * rejects with, is logged and changes nothing. A class that is request-scoped or transient, and a name that is no event,
 * are `DQ_CONFIG` at the start of the application.
 * @param options `cluster`: the name of the cluster, where that has one.
 */
export function OnDq<N extends DqEventName>(
  name: N,
  options?: { cluster?: string },
): <M extends (event: DqEventMap[N]) => unknown>(
  target: object,
  method: string | symbol,
  descriptor: TypedPropertyDescriptor<M>,
) => void {
  return (target, method, descriptor) => {
    if (typeof target === 'function' || typeof descriptor?.value !== 'function') {
      throw new DqError(
        'DQ_CONFIG',
        `@OnDq(${show(name)}) stands on \`${String(method)}\`: expected a method that is not static`,
      );
    }
    Marks([{ event: name, options }, ...listenerMarks(descriptor.value)])(target, method, descriptor);
  };
}

/** The `@OnDq`s of a method. */
export function listenerMarks(method: Function): readonly ListenerMark[] {
  return reflector.get(Marks, method) ?? [];
}
