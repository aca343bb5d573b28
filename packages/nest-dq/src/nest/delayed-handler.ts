import { Reflector } from '@nestjs/core';
import { DqError, show } from '../errors.js';
import type { HandlerMethod, HandlerOptions } from '../job.js';
import type { Tube } from '../tube.js';

/** What a `@DelayedHandler` says; checked at the start of the application. */
export interface HandlerMark {
  readonly tube: string | Tube;
  readonly options?: HandlerOptions;
}

const Marks = Reflector.createDecorator<readonly HandlerMark[]>({ key: 'nest-dq:handlers' });
const reflector = new Reflector();

/**
 * Runs a tube's jobs by this method `(payload, job)` of a provider or controller. A process has one handler for each
 * tube; two, or wrong options, are `DQ_CONFIG` at the start of the application.
 * Returning `Retry` or `Discard` does that, throwing is a failure, anything else means done.
 */
export function DelayedHandler<Out = any>(
  tube: string | Tube<any, Out>,
  options?: HandlerOptions,
): <M extends HandlerMethod<Out>>(
  target: object,
  method: string | symbol,
  descriptor: TypedPropertyDescriptor<M>,
) => void {
  return (target, method, descriptor) => {
    if (typeof target === 'function' || typeof descriptor?.value !== 'function') {
      throw new DqError(
        'DQ_CONFIG',
        `@DelayedHandler(${show(tube)}) stands on \`${String(method)}\`: expected a method that is not static`,
      );
    }
    const marks = [{ tube, options }, ...handlerMarks(descriptor.value)];
    Marks(marks)(target, method, descriptor);
  };
}

/** The `@DelayedHandler`s of a method. */
export function handlerMarks(method: Function): readonly HandlerMark[] {
  return reflector.get(Marks, method) ?? [];
}
