import { MarkedMethods, type ClusterNames, type NestModule, type NestParts } from 'nest-handlers';
import { DqError } from '../errors.js';
import type { EventHub } from '../events/event-hub.js';
import { listenerMarks, type ListenerMark } from './on-dq.js';
import { asConfigError } from './option-checks.js';

type Listeners = Readonly<Record<string | symbol, (event: unknown) => unknown>>;

/** Finds the `@OnDq` methods of a cluster, and calls them at its events. */
export class ListenerExplorer {
  private readonly methods: MarkedMethods<ListenerMark>;

  constructor(
    nest: NestParts,
    private readonly events: EventHub,
    cluster?: string,
  ) {
    this.methods = new MarkedMethods(nest, listenerMarks, cluster);
  }

  /**
   * Attaches the listeners of all modules or of these, each once.
   * `DQ_CONFIG`: an unknown event, a cluster that no module registers, or a listener without a single instance to call.
   */
  attach(clusters: ClusterNames, modules?: ReadonlySet<NestModule>): void {
    for (const [{ instance, key, name, isSingle }, { event }] of this.methods.find(clusters, modules)) {
      if (!isSingle) {
        throw new DqError(
          'DQ_CONFIG',
          `${name} listens to events, but its class is request-scoped, transient, or depends on something that is: ` +
            'expected a singleton, as an event belongs to no request',
        );
      }
      // Looked up at each event, so that a method that is replaced later, such as by a spy, is called.
      const listener = (told: unknown) => (instance as Listeners)[key]!(told);
      asConfigError(`${name}: `, () => this.events.listen(event, listener, name));
    }
  }
}
