import type { ArgumentsHost } from '@nestjs/common';
import {
  ExternalContextCreator,
  type ApplicationConfig,
  type ContextId,
  type NestContainer,
} from '@nestjs/core';
import { isOutcome } from '../consumer/run/outcome.js';
import { RunningJob } from '../consumer/run/run.js';
import type { DelayedJob, HandlerMethod } from '../api/job.js';
import type { Wrapper } from './enhancers.js';
import { HandlerCall } from './handler-call.js';
import type { EnhancerAdvice } from './enhancer-advice.js';
import { JOB, PARAMETERS, parametersFactory } from './parameters.js';

/** What `getType()` says in guards, interceptors and filters while a job runs. */
const DQ_CONTEXT = 'dq';

/**
 * Whether a guard, interceptor, filter or parameter decorator is at work for a job and not for a request. The arguments
 * are the payload and the `DelayedJob`: `const [payload, job] = context.getArgs()`.
 */
export function isDqContext(host: ArgumentsHost): boolean {
  return host.getType<string>() === DQ_CONTEXT;
}

type Run = (payload: unknown, job: DelayedJob) => Promise<unknown>;
type Calls = WeakMap<object, HandlerCall>;

/** A private part of Nest's creator: it calls the interceptors, and they call the rest. */
interface Creator {
  readonly interceptorsConsumer: {
    intercept(
      interceptors: unknown,
      args: readonly [payload: unknown, job: DelayedJob],
      instance: unknown,
      callback: unknown,
      next: () => Promise<unknown>,
      type: unknown,
    ): Promise<unknown>;
  };
}

/** Puts guards, interceptors, pipes and filters around a handler's method, in the same order as around a route. */
export class HandlerContext {
  private readonly creator: ExternalContextCreator;
  private readonly calls: Calls = new WeakMap();

  constructor(
    private readonly wrapper: Wrapper,
    private readonly key: string,
    /** The method that the decorators are on. */
    private readonly decorated: Function,
    private readonly hasFilters: boolean,
    private readonly advice: EnhancerAdvice,
    config: ApplicationConfig,
  ) {
    this.creator = creatorFor(wrapper, config, this.calls);
  }

  /**
   * The handler of one instance, by the method that it has now: a spy, for example, has replaced the decorated one.
   * `contextId`: the instance was made for one job.
   */
  around(instance: object, contextId?: ContextId): HandlerMethod {
    const { decorated, key } = this;
    const current = (instance as Readonly<Record<string, Function>>)[key]!;
    const callback = current === decorated ? decorated : inheriting(decorated, current);
    const run = this.create(instance, callback, key, contextId, { filters: false });
    return async (payload: unknown, job: DelayedJob) => {
      const call = new HandlerCall();
      this.calls.set(job, call);
      try {
        return call.resultOf(await run(payload, job));
      } catch (thrown) {
        if (isOutcome(thrown)) throw thrown;
        this.advice.attemptFailed(thrown, call.returned);
        if (!this.hasFilters) throw thrown;
        const failing = inheriting(decorated, () => {
          throw thrown;
        });
        const filters = this.create(instance, failing, '', contextId, { filters: true });
        return await this.filtered(thrown, () => filters(payload, job));
      } finally {
        // The handler still runs where an interceptor gave up waiting for it.
        const { unfinished } = call;
        if (unfinished && job instanceof RunningJob) job.abandon(unfinished);
      }
    };
  }

  /** A filter can only decide by an Outcome. Otherwise the failure stays as it is. */
  private async filtered(thrown: unknown, filter: () => Promise<unknown>): Promise<unknown> {
    let said: unknown;
    try {
      said = await filter();
    } catch (error) {
      if (isOutcome(error)) throw error;
      if (error !== thrown) this.advice.filterThrew(error);
    }
    if (isOutcome(said)) return said;
    throw thrown;
  }

  /** Either everything but the filters, or the filters alone: they must not see an Outcome that is thrown. */
  private create(
    instance: object,
    callback: Function,
    method: string,
    contextId: ContextId | undefined,
    { filters }: { filters: boolean },
  ): Run {
    const rest = { guards: !filters, interceptors: !filters, filters };
    return this.creator.create(
      instance as Record<string, unknown>,
      callback as (...args: unknown[]) => unknown,
      method,
      filters ? '' : PARAMETERS,
      filters ? undefined : parametersFactory,
      contextId,
      this.wrapper.id,
      rest,
      DQ_CONTEXT,
    ) as Run;
  }
}

/** Runs one function under the decorators of another. */
function inheriting(decorated: Function, run: Function): Function {
  const callback = function (this: unknown, ...args: unknown[]): unknown {
    return run.apply(this, args);
  };
  Object.defineProperty(callback, 'name', { value: decorated.name });
  return Object.setPrototypeOf(callback, decorated) as Function;
}

/**
 * Nest's creator, made to see one module only. Otherwise it searches all modules for the handler's class (Nest 11), among
 * providers only, and would miss a guard of a controller, or of the second module that provides a class.
 */
function creatorFor({ host }: Wrapper, config: ApplicationConfig, calls: Calls): ExternalContextCreator {
  const modules = new Map<string, object>();
  if (host) modules.set(host.id, Object.create(host, { hasProvider: { value: () => true } }) as object);
  const container = { applicationConfig: config, getModules: () => modules };
  const creator = ExternalContextCreator.fromContainer(container as unknown as NestContainer);
  watchCalls(creator, calls);
  keepJobs(creator);
  return creator;
}

/** Stands between the interceptors and the pipes: only there can one see the handler's own result, and its job. */
function watchCalls(creator: ExternalContextCreator, calls: Calls): void {
  const { interceptorsConsumer } = creator as unknown as Creator;
  const intercept = interceptorsConsumer.intercept.bind(interceptorsConsumer);
  interceptorsConsumer.intercept = (interceptors, args, instance, callback, next, type) => {
    const call = calls.get(args[1]);
    return intercept(interceptors, args, instance, callback, call ? () => call.run(next) : next, type);
  };
}

/** Hides the job from pipes: global pipes are made for payloads, and might copy or refuse it. */
function keepJobs(creator: ExternalContextCreator): void {
  const getParamValue = creator.getParamValue.bind(creator);
  creator.getParamValue = async (value, metadata, pipes) =>
    metadata.data === JOB ? value : getParamValue(value, metadata, pipes);
}
