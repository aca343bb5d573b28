import { show } from '../errors.js';
import type { DelayedJob, HandlerOptions, HandlerResult } from '../api/job.js';
import type { RecurrencePlan } from '../recurring/occurrences.js';
import type { Tube } from '../api/tube.js';
import { MethodMarks } from './method-marks.js';

/**
 * A method that `@DelayedHandler` takes: `(payload, job, ...decorated)`, and what comes third and later has a parameter
 * decorator. Where the tube is a text, and so without a type, payload and job may have one too, and be elsewhere.
 */
export type DecoratedHandler<Out = any> = (
  payload: Out,
  job: 0 extends 1 & Out ? any : DelayedJob<Out>,
  ...decorated: any[]
) => HandlerResult;

/** What a `@DelayedHandler` or a `@Recurring` says; checked at the start of the application. */
export interface HandlerMark {
  readonly tube: string | Tube;
  readonly options?: HandlerOptions;
  /** Of a `@Recurring`. */
  readonly recurrence?: { readonly plan: RecurrencePlan; readonly tz?: string | undefined };
}

/** By this Nest knows that a class handles something, and gives it what is global and request-scoped, too. */
const HANDLES = '__entryProvider__';
/** The `@DelayedHandler`s and `@Recurring`s of methods. */
export const handlerMarks = new MethodMarks<HandlerMark>('nest-dq:handlers');

/**
 * Runs a tube's jobs by this method `(payload, job)` of a provider or controller. A process has one handler for each
 * tube of a cluster; two, wrong options, or a `cluster` that no module registers, are `DQ_CONFIG` at the start of the
 * application. Returning `Retry`, `Again` or `Discard` does that, throwing is a failure, anything else means done; of an
 * Observable the last value counts. Guards, pipes, interceptors and exception filters apply, the global ones too.
 */
export function DelayedHandler<Out = any>(
  tube: string | Tube<any, Out>,
  options?: HandlerOptions,
): <M extends DecoratedHandler<Out>>(
  target: object,
  method: string | symbol,
  descriptor: TypedPropertyDescriptor<M>,
) => void {
  return (target, method, descriptor) => {
    markHandler({ tube, options }, `@DelayedHandler(${show(tube)})`, target, method, descriptor);
  };
}

/** To be called by a decorator, `shown` as it is written. `DQ_CONFIG` where it stands on no method of instances. */
export function markHandler(
  mark: HandlerMark,
  shown: string,
  target: object,
  method: string | symbol,
  descriptor: PropertyDescriptor,
): void {
  handlerMarks.add(mark, shown, target, method, descriptor);
  Reflect.defineMetadata(HANDLES, true, target.constructor);
}
