import { UseFilters, UseGuards, UseInterceptors, UsePipes } from '@nestjs/common';
import type { ApplicationConfig, DiscoveryService } from '@nestjs/core';

/** A provider or controller in Nest's container. */
export type Wrapper = ReturnType<DiscoveryService['getProviders']>[number];

/** Names of a handler's enhancers, outermost first. */
export interface Enhancers {
  readonly guards: readonly string[];
  readonly interceptors: readonly string[];
  readonly pipes: readonly string[];
  readonly filters: readonly string[];
}

// Nest doesn't export its metadata keys, so each is read from a class that has it.
const GUARDS = keyOf(UseGuards());
const INTERCEPTORS = keyOf(UseInterceptors());
const PIPES = keyOf(UsePipes());
const FILTERS = keyOf(UseFilters());

/** Returns the enhancers of a method: the global ones so far, those of its class, and its own. */
export function enhancersOf(type: Function, method: Function, config: ApplicationConfig): Enhancers {
  const named = (key: unknown, everywhere: readonly object[], scoped: readonly Wrapper[]) => [
    ...everywhere.map(nameOf),
    ...scoped.map(({ name, metatype }) => (metatype ? nameOf(metatype) : String(name))),
    ...listed(key, type).map(nameOf),
    ...listed(key, method).map(nameOf),
  ];
  return {
    guards: named(GUARDS, config.getGlobalGuards(), config.getGlobalRequestGuards()),
    interceptors: named(INTERCEPTORS, config.getGlobalInterceptors(), config.getGlobalRequestInterceptors()),
    pipes: named(PIPES, config.getGlobalPipes(), config.getGlobalRequestPipes()),
    filters: named(FILTERS, config.getGlobalFilters(), config.getGlobalRequestFilters()),
  };
}

/** Returns global enhancers with more than one instance: request-scoped and transient ones. */
export function scopedGlobals(config: ApplicationConfig): readonly Wrapper[] {
  return [
    ...config.getGlobalRequestGuards(),
    ...config.getGlobalRequestInterceptors(),
    ...config.getGlobalRequestPipes(),
    ...config.getGlobalRequestFilters(),
  ];
}

export function isEmpty(enhancers: Enhancers): boolean {
  return Object.values(enhancers).every((names: readonly string[]) => names.length === 0);
}

function keyOf(decorate: ClassDecorator): unknown {
  class Probe {}
  decorate(Probe);
  const [key] = Reflect.getOwnMetadataKeys(Probe) as unknown[];
  return key;
}

function listed(key: unknown, target: Function): readonly object[] {
  return (Reflect.getMetadata(key, target) as readonly object[] | undefined) ?? [];
}

function nameOf(enhancer: object): string {
  return typeof enhancer === 'function' ? enhancer.name : (enhancer.constructor?.name ?? 'an object');
}
