import type { DiscoveryService } from '@nestjs/core';
import { DqError } from '../errors.js';
import type { EventHub } from '../events/event-hub.js';
import { clusterOf, MarkedMethods, type ClusterNames, type Found, type NestModule } from './found-methods.js';
import { listenerMarks, type ListenerMark } from './on-dq.js';
import { asConfigError } from './option-checks.js';

type Listeners = Readonly<Record<string | symbol, (event: unknown) => unknown>>;

/** Finds a cluster's `@OnDq` methods of all providers and controllers, and has them told. */
export class ListenerExplorer {
  private readonly methods: MarkedMethods<ListenerMark>;

  constructor(
    discovery: DiscoveryService,
    private readonly events: EventHub,
    private readonly cluster?: string,
  ) {
    this.methods = new MarkedMethods(discovery, listenerMarks);
  }

  /**
   * Of all modules, or of these; none twice.
   * `DQ_CONFIG`: no such event, a cluster that no module registers, or a listener without a single instance to call.
   */
  attach(clusters: ClusterNames, modules?: ReadonlySet<NestModule>): void {
    for (const [found, mark] of this.methods.find(modules)) {
      if (clusterOf(mark.options, found, clusters) === this.cluster) this.listen(mark, found);
    }
  }

  private listen({ event }: ListenerMark, { wrapper, instance, key, name }: Found): void {
    if (!wrapper.isDependencyTreeStatic() || wrapper.isTransient) {
      throw new DqError(
        'DQ_CONFIG',
        `${name} listens to events, but its class is request-scoped, transient, or depends on something that is: ` +
          'expected a singleton, as an event belongs to no request',
      );
    }
    const methods = instance as Listeners;
    asConfigError(`${name}: `, () => {
      // Looked up at each event, so that one replaced later, as by a spy, is called.
      this.events.listen(event, (told) => methods[key]!(told), name);
    });
  }
}
