import type { DiscoveryService } from '@nestjs/core';
import { DqError } from '../errors.js';
import type { Wrapper } from './enhancers.js';
import { asConfigError } from './option-checks.js';
import { checkClusterName, showCluster } from './tokens.js';

/** A method as it was found. */
export interface Found {
  readonly wrapper: Wrapper;
  /** Of a request-scoped class: only its prototype is right. */
  readonly instance: object;
  readonly key: string | symbol;
  readonly method: Function;
  /** For people: class, method and module. */
  readonly name: string;
}

/** The names of all clusters of an application; undefined is that of the one without a name. */
export type ClusterNames = readonly (string | undefined)[];

/** All methods of all providers and controllers, once for each instance. */
export function* foundMethods(discovery: DiscoveryService): Iterable<Found> {
  const seen = new Set<object>();
  for (const wrapper of [...discovery.getProviders(), ...discovery.getControllers()]) {
    const instance: unknown = wrapper.isAlias ? undefined : wrapper.instance;
    // A factory may return what another provider is already.
    if (typeof instance !== 'object' || instance === null || seen.has(instance)) continue;
    seen.add(instance);
    for (const [key, method] of methodsOf(instance)) {
      const className = instance.constructor?.name || String(wrapper.name);
      const name = `${className}.${String(key)} (in ${wrapper.host?.name ?? 'no module'})`;
      yield { wrapper, instance, key, method, name };
    }
  }
}

/** The cluster that a decorator names, which must be one of the application's. `DQ_CONFIG`. */
export function clusterOf(
  options: { readonly cluster?: unknown } | undefined,
  { name: where }: Found,
  clusters: ClusterNames,
): string | undefined {
  return asConfigError(`${where}: `, () => {
    const cluster = options?.cluster;
    const name = cluster === undefined ? undefined : checkClusterName(cluster);
    if (clusters.includes(name)) return name;
    const known = clusters.map(showCluster).join(', ');
    throw new DqError(
      'DQ_CONFIG',
      `its cluster is ${showCluster(name)}, which no DqModule of this application registers; there ${clusters.length === 1 ? 'is' : 'are'} ${known}`,
    );
  });
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
