import type { LoggerService } from '@nestjs/common';
import { ContextIdFactory, ModuleRef, type ContextId } from '@nestjs/core';
import { isObservable, lastValueFrom } from 'rxjs';
import { EnhancerAdvice } from './enhancer-advice.js';
import { enhancersOf, isEmpty, scopedGlobals, type Wrapper } from './enhancers.js';
import { GlobalGuards } from './global-guards.js';
import { HandlerContext } from './handler-context.js';
import type { Handler, HandlerKind } from './handler-kind.js';
import { refuseGenerator, type FoundMethod } from './marked-methods.js';
import type { NestParts } from './nest-parts.js';
import { hasDecoratedParameters, noteParameters } from './parameters.js';

/**
 * Property in which Nest keeps a request's context id, so that every lookup for that request returns the same id. Nest doesn't
 * export the key.
 */
const CONTEXT_ID = contextIdKey();

type Methods = Readonly<Record<string | symbol, Handler>>;

/** Creates an instance of a handler's class for each item. */
type ItemScope = (item: object) => Promise<{ instance: object; contextId: ContextId }>;

/** Creates the function that calls a method: the bare method if no guard, pipe, interceptor or filter applies. */
export class HandlerInvoker<Item extends object> {
  private readonly guards: GlobalGuards;

  constructor(
    private readonly nest: NestParts,
    private readonly kind: HandlerKind<Item>,
    /** Receives one warning per handler for each enhancer that fails because it expected a request. */
    private readonly logger: Pick<LoggerService, 'warn'>,
  ) {
    this.guards = new GlobalGuards(nest.config, kind, logger);
  }

  /** Warns about global guards that seem to be written for requests, naming the handlers bound since the last call. */
  advise(): void {
    this.guards.advise();
  }

  /**
   * Returns a function that calls the method with payload and item. For a request-scoped class, it first creates an instance with
   * the item as its request. The method is looked up on each call, so that a spy installed later is called. Global enhancers
   * added later don't apply. Throws the kind's configuration error for a generator, a transient class, a request-scoped class
   * that belongs to no module, a parameter that reads a request, or enhancers that Nest would skip.
   */
  bind(found: FoundMethod): Handler<Item> {
    const { wrapper, instance, key } = found;
    refuseGenerator(found, this.kind);
    this.refuseTransient(found);
    const context = this.contextOf(found);
    this.guards.bound(found);
    if (!wrapper.isDependencyTreeStatic()) return perItem(this.scopeOf(found), key, context);
    return context ? enhanced(instance as Methods, key, context) : bare(instance as Methods, key);
  }

  /** Whether a call does more than call the method: it runs enhancers, or creates an instance for each item. */
  surrounds({ wrapper, instance, key, method }: FoundMethod): boolean {
    const type = instance.constructor;
    const enhancers = enhancersOf(type, method, this.nest.config);
    return !isEmpty(enhancers) || hasDecoratedParameters(type, key) || !wrapper.isDependencyTreeStatic();
  }

  private contextOf(found: FoundMethod): HandlerContext | undefined {
    const { wrapper, instance, key, method, name } = found;
    const { kind } = this;
    const { config } = this.nest;
    const type = instance.constructor;
    const enhancers = enhancersOf(type, method, config);
    if (isEmpty(enhancers) && !hasDecoratedParameters(type, key)) return undefined;
    if (typeof key === 'symbol') {
      throw kind.configError(
        `${name} has guards, pipes, interceptors, filters or decorated parameters, which Nest stores by method ` +
          'name, but its name is a symbol: expected a string',
      );
    }
    this.refusePassedOver(wrapper, name);
    noteParameters(type, key, name, kind);
    const advice = new EnhancerAdvice(kind, this.logger, enhancers, type.name, key);
    return new HandlerContext(kind, found, key, enhancers.filters.length > 0, advice, config);
  }

  /** Nest applies a scoped global enhancer only to providers given as a class, so handlers of any other provider would run without it. */
  private refusePassedOver(wrapper: Wrapper, name: string): void {
    const known = wrapper.getEnhancersMetadata() ?? [];
    const missing = scopedGlobals(this.nest.config).find((enhancer) => !known.includes(enhancer));
    if (missing === undefined) return;
    throw this.kind.configError(
      `${name} would run without the global ${String(missing.name)}, which is not a singleton: Nest creates it only ` +
        'for providers given as a class; expected such a provider',
    );
  }

  private refuseTransient({ wrapper, name }: FoundMethod): void {
    if (!wrapper.isTransient) return;
    throw this.kind.configError(
      `${name} is a handler, but its class is transient, so each injection gets its own instance: ` +
        `expected a singleton, or a request-scoped class, which has one instance per ${this.kind.item}`,
    );
  }

  /**
   * Creates instances with their request-scoped dependencies, with the item as the request. Nest keeps only a weak reference to
   * each instance, by its context id, so it is freed after the run.
   */
  private scopeOf({ wrapper, name }: FoundMethod): ItemScope {
    // From the handler's own module, since another module may have a provider with the same token.
    const moduleRef: unknown = wrapper.host?.getProviderByKey(ModuleRef)?.instance;
    if (!(moduleRef instanceof ModuleRef)) {
      throw this.kind.configError(`${name} is request-scoped, but belongs to no module that could create it`);
    }
    return async (item) => {
      const contextId = ContextIdFactory.getByRequest(item);
      if (!Object.hasOwn(item, CONTEXT_ID)) Object.defineProperty(item, CONTEXT_ID, { value: contextId });
      // Register the request as Nest does. A durable tree outlives the item, so it gets the strategy's payload instead.
      const isShared = contextId.getParent !== undefined && wrapper.isDependencyTreeDurable();
      moduleRef.registerRequestByContextId(isShared ? contextId.payload : item, contextId);
      const instance: object = await moduleRef.resolve(wrapper.token, contextId, { strict: true });
      return { instance, contextId };
    };
  }
}

function contextIdKey(): symbol {
  const asked: symbol[] = [];
  const get = (_request: object, key: string | symbol) => {
    if (typeof key === 'symbol') asked.push(key);
    return { id: 0 };
  };
  ContextIdFactory.getByRequest(new Proxy({}, { get }));
  return asked[0]!;
}

function bare(methods: Methods, key: string | symbol): Handler {
  return (payload, item) => {
    const result = methods[key]!(payload, item);
    return result instanceof Promise ? result.then(lastValue) : lastValue(result);
  };
}

/** Resolves to an Observable's last value, as Nest does after enhancers: nothing else would subscribe to what a bare handler returns. */
function lastValue(result: unknown): unknown {
  return isObservable(result) ? lastValueFrom(result) : result;
}

function enhanced(methods: Methods, key: string | symbol, context: HandlerContext): Handler {
  let current = methods[key];
  let run = context.around(methods);
  return (payload, item) => {
    if (methods[key] !== current) {
      current = methods[key];
      run = context.around(methods);
    }
    return run(payload, item);
  };
}

function perItem(scope: ItemScope, key: string | symbol, context: HandlerContext | undefined): Handler {
  return async (payload, item) => {
    const { instance, contextId } = await scope(item);
    const run = context ? context.around(instance, contextId) : bare(instance as Methods, key);
    return run(payload, item);
  };
}
