import { HandlerMarks, type Handler, type HandlerDescriptor } from 'nest-handlers';
import { show } from '../errors.js';
import type { BatchHandlerMethod, BatchHandlerOptions, DelayedJob, HandlerOptions } from '../api/job.js';
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

type OneOrMoreTubes = string | Tube | readonly (string | Tube)[];

/** Arguments of a `@DelayedHandler` or a `@Recurring`, validated when the application starts. */
export interface HandlerMark {
  readonly tubes: OneOrMoreTubes | ((instance: any) => OneOrMoreTubes);
  readonly options?: HandlerOptions | BatchHandlerOptions;
  /** Only for `@Recurring`. */
  readonly recurrence?: { readonly plan: RecurrencePlan; readonly tz?: string | undefined };
}

/** Marks of all `@DelayedHandler` and `@Recurring` methods. */
export const handlerMarks = new HandlerMarks<HandlerMark>(JOB_HANDLERS, 'handlers');

/** The tubes of a handler, as the decorator takes them. */
type TubesOf<Out> =
  | string
  | Tube<any, Out>
  | readonly (string | Tube<any, Out>)[]
  | ((instance: any) => string | Tube<any, Out> | readonly (string | Tube<any, Out>)[]);

type Decorates<Method extends (...args: any[]) => unknown> = <M extends Method>(
  target: object,
  method: string | symbol,
  descriptor: HandlerDescriptor<M>,
) => void;

/**
 * Makes the method run batches of jobs: `(payloads, jobs)`. It may return an array with an outcome or an Error at the index of each
 * job that isn't done, or the result of `Promise.allSettled`; what else it returns or throws applies to all jobs. Each job has its
 * own lease, timeout, retries and outcome. Otherwise as below.
 */
export function DelayedHandler<Out = any>(
  tubes: TubesOf<Out>,
  options: BatchHandlerOptions,
): Decorates<BatchHandlerMethod<Out>>;
/**
 * Runs the jobs of a tube, or of several, with this method `(payload, job)` of a provider or controller. Each tube has its own
 * concurrency and limits. A process has one handler per tube of a cluster. A second handler, invalid options, or a `cluster` that no module registers fail application startup with `DQ_CONFIG`.
 * The method may return `Retry`, `Again` or `Discard`; throwing is a failure; anything else means done. Of an Observable, the
 * last value counts. Guards, pipes, interceptors and exception filters apply, including global ones.
 * @param tubes One tube, several, or a function that returns them for an instance, such as `({ tubes }) => tubes`: then classes can
 *   inherit a handler and have different tubes. For a request-scoped class it gets the prototype.
 */
export function DelayedHandler<Out = any>(
  tubes: TubesOf<Out>,
  options?: HandlerOptions,
): Decorates<DecoratedHandler<Out>>;
export function DelayedHandler(
  tubes: TubesOf<any>,
  options?: HandlerOptions | BatchHandlerOptions,
): Decorates<Handler> {
  return (target, method, descriptor) => {
    const shown = typeof tubes === 'function' ? 'a function' : show(tubes);
    handlerMarks.add({ tubes, options }, `@DelayedHandler(${shown})`, target, method, descriptor);
  };
}
