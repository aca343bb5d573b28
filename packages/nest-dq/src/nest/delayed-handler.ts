import { HandlerMarks, type HandlerDescriptor } from 'nest-handlers';
import { show } from '../errors.js';
import type { DelayedJob, HandlerOptions, HandlerResult } from '../api/job.js';
import type { RecurrencePlan } from '../recurring/occurrences.js';
import type { Tube } from '../api/tube.js';
import { JOB_HANDLERS } from './job-handlers.js';

/**
 * A method that `@DelayedHandler` takes: `(payload, job, ...decorated)`. The third parameter and later ones need a
 * parameter decorator. Payload and job may have one too, and stand elsewhere, if the tube is a text and so has no type.
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

/** The `@DelayedHandler`s and `@Recurring`s of methods. */
export const handlerMarks = new HandlerMarks<HandlerMark>(JOB_HANDLERS, 'handlers');

/**
 * Runs the jobs of a tube by this method `(payload, job)` of a provider or controller. A process has one handler for each
 * tube of a cluster. Two handlers, wrong options, or a `cluster` that no module registers, are `DQ_CONFIG` at the start of
 * the application. The method can return `Retry`, `Again` or `Discard`; throwing is a failure; anything else means done.
 * The last value of an Observable counts. Guards, pipes, interceptors and exception filters apply, global ones too.
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
