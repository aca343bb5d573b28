import { inspect, types } from 'node:util';
import type { ModulesContainer } from '@nestjs/core';
import type { Wrapper } from './enhancers.js';
import type { HandlerKind } from './handler-kind.js';
import type { MethodMarks } from './method-marks.js';
import type { NestParts } from './nest-parts.js';

/** A decorated method of a provider or controller. */
export interface FoundMethod {
  /** The provider or controller, as Nest's container holds it. */
  readonly wrapper: Wrapper;
  /** Of a request-scoped class only its prototype counts. */
  readonly instance: object;
  /** Its name in the class. */
  readonly key: string | symbol;
  /** As the decorators left it. An instance may have another one by now, such as a spy. */
  readonly method: Function;
  /** For messages: class, method and module. */
  readonly name: string;
  /** One instance is there for the whole time: neither the class nor what it depends on is request-scoped or transient. */
  readonly isSingle: boolean;
}

/** The names of all clusters of an application; undefined: the one without a name. */
export type ClusterNames = readonly (string | undefined)[];

/** A module of the application, as Nest keeps it. */
export type NestModule = ModulesContainer extends Map<string, infer M> ? M : never;

/** A property of a prototype: perhaps a method. */
interface Place {
  readonly prototype: object;
  readonly key: string | symbol;
  readonly value: unknown;
}

/** What a decorator says of the cluster that its method belongs to. */
export interface MarkOfCluster {
  /** `cluster`: its name as it was given, not checked yet. Without it: the one without a name. */
  readonly options?: { readonly cluster?: unknown };
}

/**
 * Finds the methods of a cluster that have marks, in all providers and controllers. Each instance is looked at once,
 * so a second search finds what came since, such as modules that were loaded lazily.
 */
export class MarkedMethods<Mark extends MarkOfCluster> {
  private readonly seen = new WeakSet<object>();

  constructor(
    private readonly nest: NestParts,
    private readonly marks: MethodMarks<Mark>,
    private readonly cluster?: string,
  ) {}

  /**
   * Throws the kind's error of configuration if a mark was lost on its way, or names none of the clusters.
   * @param modules Only of these. Default: all.
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

/** The kind's error of configuration: a call of a generator runs nothing of it. */
export function refuseGenerator({ method, name }: FoundMethod, kind: HandlerKind): void {
  if (!types.isGeneratorFunction(method)) return;
  throw kind.configError(
    `${name} is a generator, and nothing of it would run: expected a method without *, which may be async`,
  );
}

function shown(cluster: unknown): string {
  if (cluster === undefined) return 'the one without a name';
  return typeof cluster === 'string' ? JSON.stringify(cluster) : inspect(cluster, { depth: 0 });
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
