import type { DiscoveryService } from '@nestjs/core';
import { resolveHandlerOptions } from '../consumer/handler-settings.js';
import { DqError, show } from '../errors.js';
import type { HandlerMethod, HandlerOptions } from '../job.js';
import { tubeName } from '../tube.js';
import { handlerMarks, type HandlerMark } from './delayed-handler.js';
import { invoker } from './handler-invoker.js';
import { asConfigError, type ResolvedOptions } from './options.js';

/** A provider or controller as Nest's container holds it. */
type Wrapper = ReturnType<DiscoveryService['getProviders']>[number];

export interface FoundHandler {
  /** For people: class, method and module. */
  readonly name: string;
  readonly tube: string;
  readonly handler: HandlerMethod;
  readonly options?: HandlerOptions;
}

/** Finds the `@DelayedHandler` methods of all providers and controllers, and checks them. */
export class HandlerExplorer {
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly options: ResolvedOptions,
  ) {}

  /** `DQ_CONFIG`: wrong options, two handlers of one tube, or a handler without one instance to call. */
  explore(): FoundHandler[] {
    const found = new Map<string, FoundHandler>();
    const seen = new Set<object>();
    for (const wrapper of [...this.discovery.getProviders(), ...this.discovery.getControllers()]) {
      const instance: unknown = wrapper.isAlias ? undefined : wrapper.instance;
      // A factory may return what another provider is already.
      if (typeof instance !== 'object' || instance === null || seen.has(instance)) continue;
      seen.add(instance);
      for (const handler of this.handlersOf(wrapper, instance)) {
        const other = found.get(handler.tube);
        if (other) throw twoHandlers(handler, other);
        found.set(handler.tube, handler);
      }
    }
    return [...found.values()];
  }

  private *handlersOf(wrapper: Wrapper, instance: object): Iterable<FoundHandler> {
    for (const [key, method] of methodsOf(instance)) {
      for (const mark of handlerMarks(method)) yield this.check(mark, wrapper, instance, key);
    }
  }

  private check(mark: HandlerMark, wrapper: Wrapper, instance: object, key: string | symbol): FoundHandler {
    const className = instance.constructor?.name || String(wrapper.name);
    const name = `${className}.${String(key)} (in ${wrapper.host?.name ?? 'no module'})`;
    refuseManyInstances(wrapper, name);
    const { options } = mark;
    return asConfigError(`${name}: `, () => {
      resolveHandlerOptions(options, this.options.handlers);
      return {
        name,
        tube: tubeName(mark.tube, this.options.prefix),
        handler: invoker(instance, key),
        options,
      };
    });
  }
}

/** Own and inherited methods, each name once: one that is overridden without the decorator is no handler. */
function* methodsOf(instance: object): Iterable<[string | symbol, Function]> {
  const seen = new Set<string | symbol>();
  let level: object | null = Object.getPrototypeOf(instance);
  for (; level && level !== Object.prototype; level = Object.getPrototypeOf(level)) {
    for (const key of Reflect.ownKeys(level)) {
      if (seen.has(key)) continue;
      seen.add(key);
      const value: unknown = Object.getOwnPropertyDescriptor(level, key)?.value; // no getter is called
      if (typeof value === 'function' && key !== 'constructor') yield [key, value];
    }
  }
}

function refuseManyInstances(wrapper: Wrapper, name: string): void {
  if (wrapper.isDependencyTreeStatic() && !wrapper.isTransient) return;
  const why = wrapper.isTransient
    ? 'transient, so it has an instance for each place where it is injected'
    : 'request-scoped, or depends on something that is';
  throw new DqError(
    'DQ_CONFIG',
    `${name} is a handler, but its class is ${why}; that is not supported in this version: expected a singleton`,
  );
}

function twoHandlers(handler: FoundHandler, other: FoundHandler): DqError {
  return new DqError(
    'DQ_CONFIG',
    `the tube ${show(handler.tube)} has two handlers, ${other.name} and ${handler.name}: expected one; ` +
      'is a class provided twice, or its decorated method inherited twice?',
  );
}
