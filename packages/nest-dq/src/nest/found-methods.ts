import type { DiscoveryService, ModulesContainer } from '@nestjs/core';
import { DqError } from '../errors.js';
import type { Wrapper } from './enhancers.js';
import type { MethodMarks } from './method-marks.js';
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

/** A module of the application, as Nest keeps it. */
export type NestModule = ModulesContainer extends Map<string, infer M> ? M : never;

/**
 * Finds the methods of providers and controllers that decorators of one kind mark, once for each instance: those that
 * were found before are not found again.
 */
export class MarkedMethods<Mark> {
  private readonly seen = new WeakSet<object>();

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly marks: MethodMarks<Mark>,
  ) {}

  /** `modules`: of these only. `DQ_CONFIG`: a mark was lost, see `method-marks.ts`. */
  *find(modules?: ReadonlySet<NestModule>): Iterable<[Found, Mark]> {
    const { discovery, seen } = this;
    for (const wrapper of [...discovery.getProviders(), ...discovery.getControllers()]) {
      if (modules && !(wrapper.host && modules.has(wrapper.host))) continue;
      const instance: unknown = wrapper.isAlias ? undefined : wrapper.instance;
      // A factory may return what another provider is already.
      if (typeof instance !== 'object' || instance === null || seen.has(instance)) continue;
      seen.add(instance);
      for (const { prototype, key, value } of methodsOf(instance)) {
        const className = instance.constructor?.name || String(wrapper.name);
        const name = `${className}.${String(key)} (in ${wrapper.host?.name ?? 'no module'})`;
        for (const mark of this.marks.of({ prototype, key, value }, name)) {
          yield [{ wrapper, instance, key, method: value as Function, name }, mark];
        }
      }
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

/** Own and inherited properties, each name once: one that is overridden without the decorator is no handler. */
function* methodsOf(
  instance: object,
): Iterable<{ readonly prototype: object; readonly key: string | symbol; readonly value: unknown }> {
  const seen = new Set<string | symbol>();
  let prototype: object | null = Object.getPrototypeOf(instance);
  for (; prototype && prototype !== Object.prototype; prototype = Object.getPrototypeOf(prototype)) {
    for (const key of Reflect.ownKeys(prototype)) {
      if (seen.has(key) || key === 'constructor') continue;
      seen.add(key);
      const value: unknown = Object.getOwnPropertyDescriptor(prototype, key)?.value; // no getter is called
      yield { prototype, key, value };
    }
  }
}
