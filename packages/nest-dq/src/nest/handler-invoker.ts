import type { LoggerService } from '@nestjs/common';
import { ContextIdFactory, ModuleRef, type ApplicationConfig, type ContextId } from '@nestjs/core';
import { isObservable, lastValueFrom } from 'rxjs';
import { DqError } from '../errors.js';
import type { DelayedJob, HandlerMethod } from '../api/job.js';
import { enhancersOf, isEmpty, scopedGlobals, type Wrapper } from './enhancers.js';
import type { FoundMethod } from './found-methods.js';
import { HandlerContext } from './handler-context.js';
import { EnhancerAdvice } from './enhancer-advice.js';
import { hasDecoratedParameters, noteParameters } from './parameters.js';

type Methods = Readonly<Record<string | symbol, HandlerMethod>>;

/** Makes an instance of a handler's class for each job. */
type JobScope = (job: DelayedJob) => Promise<{ instance: object; contextId: ContextId }>;

/** Makes the function that runs a job by a method: the bare method where no guard, pipe, interceptor or filter applies. */
export class HandlerInvoker {
  constructor(
    private readonly config: ApplicationConfig,
    private readonly logger: LoggerService,
  ) {}

  /**
   * Global enhancers that are set later do not apply. The method is looked up at each call, so that a spy that replaces
   * it later is called. `DQ_CONFIG`: see `handler-explorer.ts`.
   */
  bind(found: FoundMethod): HandlerMethod {
    const { wrapper, instance, key, name } = found;
    const context = this.contextOf(found);
    if (!wrapper.isDependencyTreeStatic()) return perJob(scopeOf(wrapper, name), key, context);
    return context ? enhanced(instance as Methods, key, context) : bare(instance as Methods, key);
  }

  private contextOf({ wrapper, instance, key, method, name }: FoundMethod): HandlerContext | undefined {
    const type = instance.constructor;
    const enhancers = enhancersOf(type, method, this.config);
    if (isEmpty(enhancers) && !hasDecoratedParameters(type, key)) return undefined;
    if (typeof key === 'symbol') {
      throw new DqError(
        'DQ_CONFIG',
        `${name} has guards, pipes, interceptors, filters or decorated parameters, which Nest keeps by the name of a ` +
          'method, and its name is a symbol: expected a text',
      );
    }
    this.refusePassedOver(wrapper, name);
    noteParameters(type, key, name);
    const advice = new EnhancerAdvice(this.logger, enhancers, type.name, key);
    return new HandlerContext(wrapper, key, method, enhancers.filters.length > 0, advice, this.config);
  }

  /** Nest applies a scoped global enhancer only to providers given as a class; others would run without it. */
  private refusePassedOver(wrapper: Wrapper, name: string): void {
    const known = wrapper.getEnhancersMetadata() ?? [];
    const missing = scopedGlobals(this.config).find((enhancer) => !known.includes(enhancer));
    if (missing === undefined) return;
    throw new DqError(
      'DQ_CONFIG',
      `${name} would run without the global ${String(missing.name)}, which is not a singleton: Nest makes it for ` +
        'providers given as a class only; expected such a provider',
    );
  }
}

function bare(methods: Methods, key: string | symbol): HandlerMethod {
  return (payload, job) => {
    const result = methods[key]!(payload, job);
    return result instanceof Promise ? result.then(lastValue) : lastValue(result);
  };
}

/** As Nest does behind enhancers. Nobody else subscribes to an Observable that a bare handler returns. */
function lastValue(result: unknown): unknown {
  return isObservable(result) ? lastValueFrom(result) : result;
}

function enhanced(methods: Methods, key: string | symbol, context: HandlerContext): HandlerMethod {
  let current = methods[key];
  let run = context.around(methods);
  return (payload, job) => {
    if (methods[key] !== current) {
      current = methods[key];
      run = context.around(methods);
    }
    return run(payload, job);
  };
}

function perJob(scope: JobScope, key: string | symbol, context: HandlerContext | undefined): HandlerMethod {
  return async (payload, job) => {
    const { instance, contextId } = await scope(job);
    const run = context ? context.around(instance, contextId) : bare(instance as Methods, key);
    return run(payload, job);
  };
}

/**
 * Makes instances with their request-scoped dependencies. The job is the request. Nest holds an instance weakly, by the
 * context's id, so it goes when the run is over. `DQ_CONFIG`: the class belongs to no module.
 */
function scopeOf(wrapper: Wrapper, name: string): JobScope {
  // That of its own module, as another module may have a provider of the same token.
  const moduleRef: unknown = wrapper.host?.getProviderByKey(ModuleRef)?.instance;
  if (!(moduleRef instanceof ModuleRef)) {
    throw new DqError('DQ_CONFIG', `${name} is request-scoped, but belongs to no module that could make it`);
  }
  return async (job) => {
    const contextId = ContextIdFactory.getByRequest(job);
    // As Nest does for requests. A durable tree outlives the job, so it gets the strategy's payload instead.
    const isShared = contextId.getParent !== undefined && wrapper.isDependencyTreeDurable();
    moduleRef.registerRequestByContextId(isShared ? contextId.payload : job, contextId);
    const instance: object = await moduleRef.resolve(wrapper.token, contextId, { strict: true });
    return { instance, contextId };
  };
}
