import { UseFilters, UseGuards, UseInterceptors, UsePipes } from '@nestjs/common';
import type { ApplicationConfig, DiscoveryService } from '@nestjs/core';

/** A provider or controller as Nest's container holds it. */
export type Wrapper = ReturnType<DiscoveryService['getProviders']>[number];

/** The names of the enhancers of a handler, outermost first. */
export interface Enhancers {
  readonly guards: readonly string[];
  readonly interceptors: readonly string[];
  readonly pipes: readonly string[];
  readonly filters: readonly string[];
}

// Nest does not export the keys of its metadata, so each is read from a class that has it.
const GUARDS = keyOf(UseGuards());
const INTERCEPTORS = keyOf(UseInterceptors());
const PIPES = keyOf(UsePipes());
const FILTERS = keyOf(UseFilters());

/** The enhancers of a method: those that are global so far, those of its class, and its own. */
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

/** Global enhancers with more than one instance: request-scoped and transient ones. */
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
