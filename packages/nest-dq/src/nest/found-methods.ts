import type { DiscoveryService, ModulesContainer } from '@nestjs/core';
import { DqError } from '../errors.js';
import type { Wrapper } from './enhancers.js';
import type { MethodMarks, Place } from './method-marks.js';
import { asConfigError } from './option-checks.js';
import { checkClusterName, showCluster } from './tokens.js';

/** A decorated method of a provider or controller. */
export interface FoundMethod {
  readonly wrapper: Wrapper;
  /** Of a request-scoped class only its prototype counts. */
  readonly instance: object;
  readonly key: string | symbol;
  readonly method: Function;
  /** For messages: class, method and module. */
  readonly name: string;
}

/** The names of all clusters of an application; undefined: the one without a name. */
export type ClusterNames = readonly (string | undefined)[];

/** A module of the application, as Nest keeps it. */
export type NestModule = ModulesContainer extends Map<string, infer M> ? M : never;

/** What decorators say of the cluster that a method belongs to. */
interface MarkOfCluster {
  readonly options?: { readonly cluster?: unknown };
}

/**
 * Finds the methods of a cluster that decorators of one kind mark, in all providers and controllers. Each instance is
 * looked at once.
 */
export class MarkedMethods<Mark extends MarkOfCluster> {
  private readonly seen = new WeakSet<object>();

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly marks: MethodMarks<Mark>,
    private readonly cluster: string | undefined,
  ) {}

  /** `modules`: only of these. `DQ_CONFIG`: a mark was lost, see `method-marks.ts`, or names none of the clusters. */
  *find(clusters: ClusterNames, modules?: ReadonlySet<NestModule>): Iterable<[FoundMethod, Mark]> {
    const { discovery, seen } = this;
    for (const wrapper of [...discovery.getProviders(), ...discovery.getControllers()]) {
      if (modules && !(wrapper.host && modules.has(wrapper.host))) continue;
      const instance: unknown = wrapper.isAlias ? undefined : wrapper.instance;
      // A factory may return the instance of another provider.
      if (typeof instance !== 'object' || instance === null || seen.has(instance)) continue;
      seen.add(instance);
      for (const place of placesOf(instance)) {
        const { key, value } = place;
        const className = instance.constructor?.name || String(wrapper.name);
        const name = `${className}.${String(key)} (in ${wrapper.host?.name ?? 'no module'})`;
        for (const mark of this.marks.of(place, name)) {
          if (clusterOf(mark, name, clusters) !== this.cluster) continue;
          yield [{ wrapper, instance, key, method: value as Function, name }, mark];
        }
      }
    }
  }
}

/** The cluster that a decorator of the method `where` names, which must be one of the application's. `DQ_CONFIG`. */
function clusterOf({ options }: MarkOfCluster, where: string, clusters: ClusterNames): string | undefined {
  return asConfigError(`${where}: `, () => {
    const cluster = options?.cluster;
    const name = cluster === undefined ? undefined : checkClusterName(cluster);
    if (clusters.includes(name)) return name;
    const known = `there ${clusters.length === 1 ? 'is' : 'are'} ${clusters.map(showCluster).join(', ')}`;
    throw new DqError(
      'DQ_CONFIG',
      `its cluster is ${showCluster(name)}, which no DqModule of this application registers; ${known}`,
    );
  });
}

/** Own and inherited properties, each name once: a method that is overridden without the decorator is no handler. */
function* placesOf(instance: object): Iterable<Place> {
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
