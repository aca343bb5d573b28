import {
  ExternalContextCreator,
  type ApplicationConfig,
  type ContextId,
  type NestContainer,
} from '@nestjs/core';
import type { EnhancerAdvice } from './enhancer-advice.js';
import type { Wrapper } from './enhancers.js';
import { HandlerCall } from './handler-call.js';
import type { Handler, HandlerKind } from './handler-kind.js';
import type { FoundMethod } from './marked-methods.js';
import { ITEM, PARAMETERS, parametersFactory } from './parameters.js';

type Run = (payload: unknown, item: object) => Promise<unknown>;
type Calls = WeakMap<object, HandlerCall>;

/** A private part of Nest's creator: it calls the interceptors, which call the rest. */
interface Creator {
  readonly interceptorsConsumer: {
    intercept(
      interceptors: unknown,
      args: readonly [payload: unknown, item: object],
      instance: unknown,
      callback: unknown,
      next: () => Promise<unknown>,
      type: unknown,
    ): Promise<unknown>;
  };
}

/** Wraps a handler's method in guards, interceptors, pipes and filters, in the same order as a route. */
export class HandlerContext {
  private readonly creator: ExternalContextCreator;
  private readonly calls: Calls = new WeakMap();

  constructor(
    private readonly kind: HandlerKind,
    private readonly found: FoundMethod,
    private readonly key: string,
    private readonly hasFilters: boolean,
    private readonly advice: EnhancerAdvice,
    config: ApplicationConfig,
  ) {
    this.creator = creatorFor(found.wrapper, config, this.calls);
  }

  /**
   * Returns the handler of one instance, using its current method, which may have been replaced, for example by a spy.
   * `contextId`: set if the instance was created for one item.
   */
  around(instance: object, contextId?: ContextId): Handler {
    const { key, kind } = this;
    const { method: decorated } = this.found;
    const current = (instance as Readonly<Record<string, Function>>)[key]!;
    const callback = current === decorated ? decorated : inheriting(decorated, current);
    const run = this.create(instance, callback, key, contextId, { filters: false });
    return async (payload: unknown, item: object) => {
      const call = new HandlerCall(kind);
      this.calls.set(item, call);
      try {
        return call.resultOf(await run(payload, item));
      } catch (thrown) {
        if (kind.isOutcome(thrown)) throw thrown;
        this.advice.attemptFailed(thrown, call.returned, call.admitted);
        if (!this.hasFilters) throw thrown;
        const failing = inheriting(decorated, () => {
          throw thrown;
        });
        const filters = this.create(instance, failing, '', contextId, { filters: true });
        return await this.filtered(thrown, () => filters(payload, item));
      } finally {
        // The handler is still running if an interceptor gave up waiting for it.
        const { unfinished } = call;
        if (unfinished) kind.abandon(item, unfinished);
      }
    };
  }

  /** A filter can only change the result by an outcome. Otherwise the failure stands. */
  private async filtered(thrown: unknown, filter: () => Promise<unknown>): Promise<unknown> {
    let said: unknown;
    try {
      said = await filter();
    } catch (error) {
      if (this.kind.isOutcome(error)) throw error;
      if (error !== thrown) this.advice.filterThrew(error);
    }
    if (this.kind.isOutcome(said)) return said;
    throw thrown;
  }

  /** Creates either everything but the filters, or the filters alone: they must not see a thrown outcome. */
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
      this.found.wrapper.id,
      rest,
      this.kind.context,
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
 * Returns Nest's creator, limited to one module. Otherwise it searches all modules for the handler's class (Nest 11), among
 * providers only, and would miss a guard of a controller, or of the second module that provides a class.
 */
function creatorFor({ host }: Wrapper, config: ApplicationConfig, calls: Calls): ExternalContextCreator {
  const modules = new Map<string, object>();
  if (host) modules.set(host.id, Object.create(host, { hasProvider: { value: () => true } }) as object);
  const container = { applicationConfig: config, getModules: () => modules };
  const creator = ExternalContextCreator.fromContainer(container as unknown as NestContainer);
  watchCalls(creator, calls);
  keepItems(creator);
  return creator;
}

/** Hooks in between interceptors and pipes, the only place that sees both the handler's own result and its item. */
function watchCalls(creator: ExternalContextCreator, calls: Calls): void {
  const { interceptorsConsumer } = creator as unknown as Creator;
  const intercept = interceptorsConsumer.intercept.bind(interceptorsConsumer);
  interceptorsConsumer.intercept = (interceptors, args, instance, callback, next, type) => {
    const call = calls.get(args[1]);
    if (call) call.admitted = true;
    return intercept(interceptors, args, instance, callback, call ? () => call.run(next) : next, type);
  };
}

/** Hides the item from pipes: global pipes are written for payloads, and might copy or refuse it. */
function keepItems(creator: ExternalContextCreator): void {
  const getParamValue = creator.getParamValue.bind(creator);
  creator.getParamValue = async (value, metadata, pipes) =>
    metadata.data === ITEM ? value : getParamValue(value, metadata, pipes);
}
