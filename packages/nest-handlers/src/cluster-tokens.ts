import type { InjectionToken } from '@nestjs/common';
import type { HandlerKind } from './handler-kind.js';

/** Library-specific parts for a module that an application imports once per cluster. */
export interface ClusterKind<Item extends object = object> extends HandlerKind<Item> {
  /** Package name, the prefix of its tokens: `'nest-dq'`. */
  readonly library: string;
  /** Runs a check of a lower layer and turns its refusal into the configuration error; `where` is prepended to its message. */
  asConfigError<T>(where: string, check: () => T): T;
  /** Formats a value for messages. */
  show(value: unknown): string;
}

/** Injection tokens of a library's parts, distinct for each cluster of an application. Throws the kind's configuration error. */
export class ClusterTokens<Injectable extends Function, Name extends string> {
  constructor(
    /** Library-specific parts. */
    readonly kind: ClusterKind<any>,
    /** Injectable parts, by their names in the runtime. For the cluster without a name, the class itself is the token. */
    readonly injectables: Readonly<Record<Name, Injectable>>,
  ) {}

  /** Returns the token of a part, injectable or internal. */
  of(what: Injectable | 'runtime' | 'lifecycle', cluster?: string): InjectionToken {
    const { library } = this.kind;
    if (typeof what === 'string') return `${library}:${what}:${cluster ?? ''}`;
    return cluster === undefined ? what : `${library}:${what.name}:${cluster}`;
  }

  /** Like `of`, for arguments given by an application. */
  checked(type: Injectable, cluster?: string): InjectionToken {
    const { kind } = this;
    const injectables = Object.values<Injectable>(this.injectables);
    if (injectables.includes(type)) return this.of(type, this.checkName(cluster));
    const known = injectables.map(({ name }) => name).join(', ');
    throw kind.configError(`${kind.show(type)} cannot be injected from a cluster: expected one of ${known}`);
  }

  /** Checks a name given by an application; undefined for the cluster without a name. */
  checkName(name: unknown): string | undefined {
    if (name === undefined || (typeof name === 'string' && name.trim() !== '')) return name;
    const { kind } = this;
    throw kind.configError(`the cluster name is ${kind.show(name)}: expected a non-empty string`);
  }

  /** Formats a cluster for messages. */
  showCluster(name: string | undefined): string {
    return name === undefined ? 'the unnamed one' : this.kind.show(name);
  }
}
