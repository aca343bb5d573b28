import type { InjectionToken } from '@nestjs/common';
import type { HandlerKind } from './handler-kind.js';

/** What is particular to a library whose module an application imports once for each cluster. */
export interface ClusterKind<Item extends object = object> extends HandlerKind<Item> {
  /** The package, with which the tokens of its parts begin: `'nest-dq'`. */
  readonly library: string;
  /** Runs a check of a lower layer, whose refusal becomes the error of configuration; `where` stands before what it says. */
  asConfigError<T>(where: string, check: () => T): T;
  /** A value as its messages show it. */
  show(value: unknown): string;
}

/**
 * The injection tokens of the parts of a library; two clusters of an application share none. What it throws is the kind's
 * error of configuration.
 */
export class ClusterTokens<Injectable extends Function, Name extends string> {
  constructor(
    /** What differs between libraries. */
    readonly kind: ClusterKind<any>,
    /** What an application injects, by its name in the runtime. For the cluster without a name the class is the token. */
    readonly injectables: Readonly<Record<Name, Injectable>>,
  ) {}

  /** The token of a part: what an application injects, or a part of the library's own. */
  of(what: Injectable | 'runtime' | 'lifecycle', cluster?: string): InjectionToken {
    const { library } = this.kind;
    if (typeof what === 'string') return `${library}:${what}:${cluster ?? ''}`;
    return cluster === undefined ? what : `${library}:${what.name}:${cluster}`;
  }

  /** The same, of what an application gives. */
  checked(type: Injectable, cluster?: string): InjectionToken {
    const { kind } = this;
    const injectables = Object.values<Injectable>(this.injectables);
    if (injectables.includes(type)) return this.of(type, this.checkName(cluster));
    const known = injectables.map(({ name }) => name).join(', ');
    throw kind.configError(`${kind.show(type)} cannot be injected of a cluster: expected one of ${known}`);
  }

  /** A name that an application gives; undefined: the cluster without a name. */
  checkName(name: unknown): string | undefined {
    if (name === undefined || (typeof name === 'string' && name.trim() !== '')) return name;
    const { kind } = this;
    throw kind.configError(`the name of a cluster is ${kind.show(name)}: expected a text that is not empty`);
  }

  /** A cluster as messages call it. */
  showCluster(name: string | undefined): string {
    return name === undefined ? 'the one without a name' : this.kind.show(name);
  }
}
