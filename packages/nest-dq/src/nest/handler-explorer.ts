import type { DiscoveryService } from '@nestjs/core';
import { resolveHandlerOptions } from '../consumer/run/handler-settings.js';
import { DqError, show } from '../errors.js';
import type { HandlerMethod, HandlerOptions } from '../api/job.js';
import { tubeName, type Tube } from '../api/tube.js';
import { handlerMarks, type HandlerMark } from './delayed-handler.js';
import type { Wrapper } from './enhancers.js';
import { clusterOf, MarkedMethods, type ClusterNames, type Found, type NestModule } from './found-methods.js';
import type { HandlerInvoker } from './handler-invoker.js';
import { asConfigError } from './option-checks.js';
import type { ResolvedOptions } from './options.js';

export interface FoundHandler {
  /** For people: class, method and module. */
  readonly name: string;
  readonly tube: string;
  /** The tube as the decorator was given it, with its schema if it has one. */
  readonly token: string | Tube;
  readonly handler: HandlerMethod;
  readonly options?: Omit<HandlerOptions, 'cluster'>;
  readonly recurrence?: HandlerMark['recurrence'];
}

/** Finds a cluster's `@DelayedHandler` and `@Recurring` methods of all providers and controllers, and checks them. */
export class HandlerExplorer {
  private readonly methods: MarkedMethods<HandlerMark>;
  /** By tube. */
  private readonly found = new Map<string, FoundHandler>();

  constructor(
    discovery: DiscoveryService,
    private readonly invoker: HandlerInvoker,
    private readonly options: ResolvedOptions,
    private readonly cluster?: string,
  ) {
    this.methods = new MarkedMethods(discovery, handlerMarks);
  }

  /**
   * Those of all modules, or of these, that were not found before.
   * `DQ_CONFIG`: wrong options, two handlers of one tube, a handler of a cluster that no module registers, one of a
   * transient class, or one that its decorators would not work for.
   */
  explore(clusters: ClusterNames, modules?: ReadonlySet<NestModule>): FoundHandler[] {
    const handlers: FoundHandler[] = [];
    for (const [method, mark] of this.methods.find(modules)) {
      if (clusterOf(mark.options, method, clusters) !== this.cluster) continue;
      const handler = this.check(mark, method);
      const other = this.found.get(handler.tube);
      if (other) throw twoHandlers(handler, other);
      this.found.set(handler.tube, handler);
      handlers.push(handler);
    }
    return handlers;
  }

  private check({ tube, options, recurrence }: HandlerMark, found: Found): FoundHandler {
    const { wrapper, name } = found;
    refuseTransient(wrapper, name);
    const { cluster: _, ...own } = options ?? {};
    const checked = asConfigError(`${name}: `, () => {
      const others = recurrence ? ['cluster', 'tz'] : ['cluster'];
      resolveHandlerOptions(options && own, this.options.handlers, others);
      return tubeName(tube, this.options.prefix);
    });
    const handler = this.invoker.bind(found);
    return { name, tube: checked, token: tube, handler, options: options && own, recurrence };
  }
}

function refuseTransient(wrapper: Wrapper, name: string): void {
  if (!wrapper.isTransient) return;
  throw new DqError(
    'DQ_CONFIG',
    `${name} is a handler, but its class is transient, so it has an instance for each place where it is injected: ` +
      'expected a singleton, or a request-scoped class, which has an instance for each job',
  );
}

function twoHandlers(handler: FoundHandler, other: FoundHandler): DqError {
  return new DqError(
    'DQ_CONFIG',
    `the tube ${show(handler.tube)} has two handlers, ${other.name} and ${handler.name}: expected one; ` +
      'is a class provided twice, or its decorated method inherited twice?',
  );
}
