import { inspect, types } from 'node:util';
import type { ModulesContainer } from '@nestjs/core';
import type { Wrapper } from './enhancers.js';
import type { HandlerKind } from './handler-kind.js';
import type { MethodMarks } from './method-marks.js';
import type { NestParts } from './nest-parts.js';

/** A decorated method of a provider or controller. */
export interface FoundMethod {
  /** The provider or controller in Nest's container. */
  readonly wrapper: Wrapper;
  /** For a request-scoped class, only its prototype is meaningful. */
  readonly instance: object;
  /** Method name. */
  readonly key: string | symbol;
  /** The method as left by the decorators. By now an instance may have a different one, such as a spy. */
  readonly method: Function;
  /** Class, method and module, for messages. */
  readonly name: string;
  /** Whether the application has exactly one instance: neither the class nor its dependencies are request-scoped or transient. */
  readonly isSingle: boolean;
}

/** Names of all clusters of an application; undefined for the one without a name. */
export type ClusterNames = readonly (string | undefined)[];

/** A module of the application, in Nest's form. */
export type NestModule = ModulesContainer extends Map<string, infer M> ? M : never;

/** A property of a prototype, possibly a method. */
interface Place {
  readonly prototype: object;
  readonly key: string | symbol;
  readonly value: unknown;
}

/** The cluster chosen by a decorator. */
export interface MarkOfCluster {
  /** `cluster`: the name as given, unchecked. Absent for the cluster without a name. */
  readonly options?: { readonly cluster?: unknown };
}

/**
 * Finds the marked methods of a cluster in all providers and controllers. Looks at each instance once, so a second search finds
 * only what is new, such as lazily loaded modules.
 */
export class MarkedMethods<Mark extends MarkOfCluster> {
  private readonly seen = new WeakSet<object>();

  constructor(
    private readonly nest: NestParts,
    private readonly marks: MethodMarks<Mark>,
    private readonly cluster?: string,
  ) {}

  /**
   * Throws the kind's configuration error if a decorator has dropped a mark, or a mark names none of the clusters.
   * @param modules Limits the search to these modules. Default: all.
   */
  *find(clusters: ClusterNames, modules?: ReadonlySet<NestModule>): Iterable<[FoundMethod, Mark]> {
    const { seen } = this;
    const { discovery } = this.nest;
    for (const wrapper of [...discovery.getProviders(), ...discovery.getControllers()]) {
      if (modules && !(wrapper.host && modules.has(wrapper.host))) continue;
      const instance: unknown = wrapper.isAlias ? undefined : wrapper.instance;
      // A factory may return the instance of another provider.
      if (typeof instance !== 'object' || instance === null || seen.has(instance)) continue;
      seen.add(instance);
      for (const { prototype, key, value } of placesOf(instance)) {
        const className = instance.constructor?.name || String(wrapper.name);
        const name = `${className}.${String(key)} (in ${wrapper.host?.name ?? 'no module'})`;
        for (const mark of this.marks.of(prototype, key, value, name)) {
          if (this.clusterOf(mark, name, clusters) !== this.cluster) continue;
          const isSingle = wrapper.isDependencyTreeStatic() && !wrapper.isTransient;
          yield [{ wrapper, instance, key, method: value as Function, name, isSingle }, mark];
        }
      }
    }
  }

  private clusterOf({ options }: Mark, where: string, clusters: ClusterNames): unknown {
    const cluster = options?.cluster;
    if (clusters.some((name) => name === cluster)) return cluster;
    const { kind } = this.marks;
    const known = `there ${clusters.length === 1 ? 'is' : 'are'} ${clusters.map(shown).join(', ')}`;
    throw kind.configError(
      `${where}: its cluster is ${shown(cluster)}, which no ${kind.module} of this application registers; ${known}`,
    );
  }
}

/** Throws the kind's configuration error for a generator, since calling it runs nothing. */
export function refuseGenerator({ method, name }: FoundMethod, kind: HandlerKind): void {
  if (!types.isGeneratorFunction(method)) return;
  throw kind.configError(
    `${name} is a generator, so calling it would run nothing: expected a method without *, async or not`,
  );
}

function shown(cluster: unknown): string {
  if (cluster === undefined) return 'the unnamed one';
  return typeof cluster === 'string' ? JSON.stringify(cluster) : inspect(cluster, { depth: 0 });
}

/** Yields own and inherited properties, each name once, because a method overridden without the decorator is not a handler. */
function* placesOf(instance: object): Iterable<Place> {
  const seen = new Set<string | symbol>();
  let prototype: object | null = Object.getPrototypeOf(instance);
  for (; prototype && prototype !== Object.prototype; prototype = Object.getPrototypeOf(prototype)) {
    for (const key of Reflect.ownKeys(prototype)) {
      if (seen.has(key) || key === 'constructor') continue;
      seen.add(key);
      const value: unknown = Object.getOwnPropertyDescriptor(prototype, key)?.value; // doesn't call getters
      yield { prototype, key, value };
    }
  }
}
