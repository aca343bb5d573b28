import { HandlerMarks, type HandlerDescriptor } from 'nest-handlers';
import { show } from '../errors.js';
import type { DelayedJob, HandlerOptions } from '../api/job.js';
import type { RecurrencePlan } from '../recurring/occurrences.js';
import type { Tube } from '../api/tube.js';
import { JOB_HANDLERS } from './job-handlers.js';

/**
 * A method that `@DelayedHandler` accepts: `(payload, job, ...decorated)`. The third and later parameters need a parameter
 * decorator. Payload and job may have one too, and may then be in other positions if the tube is a plain string and so has no
 * type.
 */
export type DecoratedHandler<Out = any> = (
  payload: Out,
  job: 0 extends 1 & Out ? any : DelayedJob<Out>,
  ...decorated: any[]
) => unknown;

/** Arguments of a `@DelayedHandler` or a `@Recurring`, validated when the application starts. */
export interface HandlerMark {
  readonly tube: string | Tube;
  readonly options?: HandlerOptions;
  /** Only for `@Recurring`. */
  readonly recurrence?: { readonly plan: RecurrencePlan; readonly tz?: string | undefined };
}

/** Marks of all `@DelayedHandler` and `@Recurring` methods. */
export const handlerMarks = new HandlerMarks<HandlerMark>(JOB_HANDLERS, 'handlers');

/**
 * Runs the jobs of a tube with this method `(payload, job)` of a provider or controller. A process has one handler per tube of a
 * cluster. A second handler, invalid options, or a `cluster` that no module registers fail application startup with `DQ_CONFIG`.
 * The method may return `Retry`, `Again` or `Discard`; throwing is a failure; anything else means done. Of an Observable, the
 * last value counts. Guards, pipes, interceptors and exception filters apply, including global ones.
 */
export function DelayedHandler<Out = any>(
  tube: string | Tube<any, Out>,
  options?: HandlerOptions,
): <M extends DecoratedHandler<Out>>(
  target: object,
  method: string | symbol,
  descriptor: HandlerDescriptor<M>,
) => void {
  return (target, method, descriptor) => {
    handlerMarks.add({ tube, options }, `@DelayedHandler(${show(tube)})`, target, method, descriptor);
  };
}
